// Measures how long one call takes, with enough calls that the clock's resolution does not matter.
//
// A repeat is the mean over consecutive calls that take at least `least_seconds` together. On a GPU
// the calls are launches: if graphs can be captured (worker/device/gpu.hpp), the calls are replayed
// as one graph, so that the time of a small kernel is its time on the device, not the time that the
// host takes to launch it. The clock is read after the device has finished.
//
//   TimedCall gemm(device, [&] { at::mm_out(c, a, b); }, 0.005);
//   times.push_back(gemm.repeat());               // seconds per call
#pragma once

#include <functional>
#include <memory>

#include "worker/device/gpu.hpp"
#include "worker/device/torch.hpp"

namespace nereus::worker {

// Waits for all work given to the device; does nothing on CPUs.
void finish_device(const at::Device& device);

class TimedCall {
 public:
  // Runs the call a few times first, so that libraries have chosen their kernels and memory is
  // allocated.
  TimedCall(const at::Device& device, std::function<void()> call, double least_seconds);
  double repeat();

 private:
  double run();  // seconds of all calls of a repeat
  void choose_calls(double least_seconds);

  at::Device device_;
  std::function<void()> call_;
  int calls_ = 1;           // per repeat; with a graph: replays
  int calls_of_graph_ = 1;  // calls per replay
  std::unique_ptr<StepGraph> graph_;
};

}  // namespace nereus::worker
