#include "worker/device/gpu.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.hpp"

#ifdef NEREUS_GPU_HEADERS
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace nereus::worker {

void choose_gpu(int local_rank) {
  std::vector<std::string> visible;
  if (const char* list = std::getenv("CUDA_VISIBLE_DEVICES"); list && *list) {
    std::istringstream names(list);
    for (std::string name; std::getline(names, name, ',');) visible.push_back(name);
    if (static_cast<std::size_t>(local_rank) >= visible.size())
      throw_input_error("train.gpus",
                        "CUDA_VISIBLE_DEVICES is " + std::string(list) + ", and this is rank " +
                            std::to_string(local_rank) + " of its host",
                        {}, "--comm shared lets several ranks share a GPU");
  }
  const std::string mine = visible.empty() ? std::to_string(local_rank) : visible[local_rank];
  setenv("CUDA_VISIBLE_DEVICES", mine.c_str(), 1);
}

void prepare_waiting_kernels() {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  setenv("NCCL_RUNTIME_CONNECT", "0", 0);
}

void use_deterministic_kernels() {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 1);  // a workspace of its own for every stream
  at::globalContext().setDeterministicAlgorithms(true, false);
  at::globalContext().setDeterministicCuDNN(true);
  at::globalContext().setBenchmarkCuDNN(false);
#ifdef NEREUS_GPU_HEADERS
  at::globalContext().setDeterministicFillUninitializedMemory(false);  // nothing reads it
#endif
}

#ifdef NEREUS_GPU_HEADERS

void use_own_stream(const at::Device& device) {
  if (device.is_cuda()) c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool());
}

double peak_gpu_memory() {
  if (!torch::cuda::is_available()) return 0;
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(c10::cuda::current_device());
  return static_cast<double>(stats.allocated_bytes[0].peak);
}

std::string gpu_name() {
  if (!torch::cuda::is_available()) return {};
  return at::cuda::getDeviceProperties(c10::cuda::current_device())->name;
}

void limit_gpu_memory(double bytes) {
  const c10::DeviceIndex device = c10::cuda::current_device();
  at::empty({1}, at::TensorOptions(at::kCUDA));  // the allocator exists once it was asked
  const double all = static_cast<double>(at::cuda::getDeviceProperties(device)->totalGlobalMem);
  c10::cuda::CUDACachingAllocator::setMemoryFraction(std::min(1.0, bytes / all), device);
}

void hold_device(double seconds) {
  constexpr double kHertz = 2e9;  // GPUs run at 1.4 to 2.6: about so long is enough
  at::cuda::sleep(static_cast<std::int64_t>(seconds * kHertz));
}

struct StepGraph::Held {
  std::optional<at::cuda::CUDAGraph> graph;
  bool captured = false;
};

StepGraph::StepGraph() : held_(std::make_unique<Held>()) {}
StepGraph::~StepGraph() = default;
bool StepGraph::is_built() { return true; }
bool StepGraph::is_captured() const { return held_->captured; }

void StepGraph::capture(const std::function<void()>& work, Kept kept) {
  // A graph has a pool of its own, which cannot take what earlier steps have left.
  torch::cuda::synchronize();
  c10::cuda::CUDACachingAllocator::emptyCache();
  // Only for this thread: the loader's threads may continue.
  held_->graph.emplace(kept == Kept::kYes);
  held_->graph->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
  work();
  held_->graph->capture_end();
  if (kept == Kept::kYes) held_->graph->instantiate();
  held_->captured = true;
}

void StepGraph::replay() { held_->graph->replay(); }
void* StepGraph::kept() { return held_->graph->raw_cuda_graph(); }

#else

void use_own_stream(const at::Device&) {}
double peak_gpu_memory() { return 0; }
std::string gpu_name() { return {}; }
void limit_gpu_memory(double) {}
void hold_device(double) {}
struct StepGraph::Held {};
StepGraph::StepGraph() = default;
StepGraph::~StepGraph() = default;
bool StepGraph::is_built() { return false; }
bool StepGraph::is_captured() const { return false; }
void StepGraph::capture(const std::function<void()>&, Kept) {
  NEREUS_CHECK(false, "is_built() is asked first");
}
void StepGraph::replay() {}
void* StepGraph::kept() { return nullptr; }

#endif

}  // namespace nereus::worker
