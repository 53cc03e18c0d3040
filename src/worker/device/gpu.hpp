// Functions that only a CUDA build has: a separate stream for the rank, the GPU's peak memory, and
// a step's passes as one CUDA graph. Without CUDA they do nothing.
//
// A graph holds the launches of a whole step, so that a replay costs the host one call instead of
// thousands. A replay uses the addresses that were captured: samples must be in the same tensors at
// every step, and nothing may read a value during the capture. A graph cannot be captured on the
// default stream, so a rank uses another stream from the start.
//
//   use_own_stream(device);
//   StepGraph graph;
//   graph.capture([&] { passes(); });           // records the launches; runs nothing
//   graph.replay();
//
// A graph that is kept can be cut into pieces (worker/execute/cut_graph.hpp).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "worker/device/torch.hpp"

namespace nereus::worker {

// Selects this rank's GPU among those in CUDA_VISIBLE_DEVICES, with one rank per GPU. Must be
// called first.
void choose_gpu(int local_rank);
// For ranks whose kernels wait on the GPU for those of other ranks (NCCL). Must be called before
// the first use of the GPU. Sets, unless the user did: CUDA_DEVICE_MAX_CONNECTIONS=32, or streams
// share hardware queues, and one is held up behind a wait of another; NCCL_RUNTIME_CONNECT=0, so
// that a communicator connects when it is made, not in a step.
void prepare_waiting_kernels();
void use_own_stream(const at::Device& device);
// Must be called before anything runs on the GPU. An operation without a deterministic kernel
// throws.
void use_deterministic_kernels();
double peak_gpu_memory();  // bytes; 0 on CPUs
std::string gpu_name();    // of this rank's GPU, from its driver; empty on CPUs
// Limits this process's memory on its GPU, if several processes share it.
void limit_gpu_memory(double bytes);

// Keeps the stream busy for about that long, so that the host can run ahead of it.
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
  void* kept();  // a cudaGraph_t, valid during this object's lifetime

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

}  // namespace nereus::worker
