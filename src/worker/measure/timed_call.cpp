#include "worker/measure/timed_call.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace nereus::worker {

namespace {

constexpr int kWarmUp = 3;
constexpr int kCallsOfGraph = 10;
constexpr int kMostCalls = 100000;

}  // namespace

void finish_device(const at::Device& device) {
  if (device.is_cuda()) torch::cuda::synchronize();
}

TimedCall::TimedCall(const at::Device& device, std::function<void()> call, double least_seconds)
    : device_(device), call_(std::move(call)) {
  for (int i = 0; i < kWarmUp; ++i) call_();
  finish_device(device_);
  if (device_.is_cuda() && StepGraph::is_built()) {
    graph_ = std::make_unique<StepGraph>();
    calls_of_graph_ = kCallsOfGraph;
    graph_->capture([&] {
      for (int i = 0; i < calls_of_graph_; ++i) call_();
    });
    graph_->replay();
    finish_device(device_);
  }
  choose_calls(least_seconds);
}

double TimedCall::run() {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls_; ++i)
    if (graph_)
      graph_->replay();
    else
      call_();
  finish_device(device_);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Twice as many until they take half of it, then what it needs at their rate.
void TimedCall::choose_calls(double least_seconds) {
  double seconds = run();
  while (seconds < least_seconds / 2 && calls_ < kMostCalls) {
    calls_ *= 2;
    seconds = run();
  }
  calls_ = static_cast<int>(std::ceil(calls_ * std::max(1.0, least_seconds / seconds)));
}

double TimedCall::repeat() { return run() / (static_cast<double>(calls_) * calls_of_graph_); }

}  // namespace nereus::worker
