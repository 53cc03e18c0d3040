// What only a CUDA build has: a stream of the rank's own, the GPU's peak memory, and a step's
// passes as one CUDA graph. Without CUDA all of them do nothing.
//
// A graph holds the launches of a whole step, so that a replay costs the host one call instead of
// thousands. It sees the addresses of its first run: samples must come into the same tensors every
// step, and nothing may ask for a value while it is taken. It may be taken on any stream but the
// default one, which is why a rank computes on its own from the start.
//
//   use_own_stream(device);
//   StepGraph graph;
//   graph.capture([&] { passes(); });           // takes the launches; runs nothing
//   graph.replay();
//
// One that is kept can be taken apart (worker/execute/cut_graph.hpp).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "worker/device/torch.hpp"

namespace nereus::worker {

// With one rank a GPU: this rank's, of those that CUDA_VISIBLE_DEVICES shows. Before anything else.
void choose_gpu(int local_rank);
void use_own_stream(const at::Device& device);
// Before anything else too. An operation that has none throws.
void use_deterministic_kernels();
double peak_gpu_memory();  // bytes; 0 on CPUs
std::string gpu_name();    // of this rank's, as its driver calls it; empty on CPUs
// What this process may take of its GPU, where several share one.
void limit_gpu_memory(double bytes);

// Keeps the stream busy for about so long, so that the host gets ahead of it.
void hold_device(double seconds);

class StepGraph {
 public:
  StepGraph();
  ~StepGraph();
  enum class Kept { kNo, kYes };
  static bool is_built();
  bool is_captured() const;
  void capture(const std::function<void()>& work, Kept kept = Kept::kNo);
  void replay();
  void* kept();  // a cudaGraph_t, as long as this lives

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

}  // namespace nereus::worker
