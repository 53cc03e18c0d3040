// How long one call takes, measured so often that the clock does not show.
//
// A repeat is the mean over as many calls, one right after the other, as fill `least_seconds`. On a
// GPU the calls are launches: where graphs can be taken (worker/device/gpu.hpp) they are replayed
// as one, so that a small kernel's time is the device's and not the host's; the device is waited
// for before the clock is read.
//
//   TimedCall gemm(device, [&] { at::mm_out(c, a, b); }, 0.005);
//   times.push_back(gemm.repeat());               // seconds of one call
#pragma once

#include <functional>
#include <memory>

#include "worker/device/gpu.hpp"
#include "worker/device/torch.hpp"

namespace nereus::worker {

// Waits for all that the device was given; nothing on CPUs.
void finish_device(const at::Device& device);

class TimedCall {
 public:
  // Runs it a few times, so that libraries have chosen their kernels and memory is there.
  TimedCall(const at::Device& device, std::function<void()> call, double least_seconds);
  double repeat();

 private:
  double run();  // seconds of all calls of a repeat
  void choose_calls(double least_seconds);

  at::Device device_;
  std::function<void()> call_;
  int calls_ = 1;           // of a repeat; with a graph: replays
  int calls_of_graph_ = 1;  // that one replay holds
  std::unique_ptr<StepGraph> graph_;
};

}  // namespace nereus::worker
