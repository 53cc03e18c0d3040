// The state of a rank as parts of whole tensors in host memory, for checkpoints and for other
// ranks.
//
//   HostState held = host_state(executor, job.training);      // also state that other ranks save
//   for (const checkpoint::Part& part : held.parts) ...       // part.bytes may be overwritten
//   held.put_back();                                          // uses the new weights and moments
//
// On a CPU the bytes are those that training uses; on a GPU they are copies, which put_back()
// copies back.
#pragma once

#include <span>

#include "checkpoint/flat_tensors.hpp"
#include "worker/execute/executor.hpp"

namespace nereus::worker {

struct HostState {
  std::vector<checkpoint::Part> parts{};
  void put_back();

  struct Copy {
    at::Tensor host;
    at::Tensor device;
  };
  struct Statistics {
    NormStatistics* norm = nullptr;
    std::vector<at::Tensor> values;
  };
  std::vector<Copy> copies{};            // of state that is not in host memory
  std::vector<Statistics> statistics{};  // of BatchNorm: always copies
};
HostState host_state(Executor& executor, const job::Training& training);

checkpoint::DType dtype_of(const at::Tensor& tensor);
checkpoint::FlatLayer flat_layer(const LayerState& state);
std::span<std::byte> bytes_of(const at::Tensor& tensor);
checkpoint::TensorKind first_kind(const job::Training& training);

// Running statistics of a layer's norm as CPU tensors: means, variances, number of groups.
struct SavedStatistic {
  std::string name;
  at::Tensor value;
};
std::vector<SavedStatistic> statistics_of(const NormStatistics& norm);
void put_statistics(NormStatistics& norm, const std::vector<at::Tensor>& values);

}  // namespace nereus::worker
