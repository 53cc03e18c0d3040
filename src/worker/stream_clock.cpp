#include "worker/stream_clock.hpp"

#include <chrono>
#include <cmath>
#include <deque>

#include "base/error.hpp"

#ifdef NEREUS_GPU_HEADERS
#include <ATen/cuda/CUDAEvent.h>
#endif

namespace nereus::worker {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

StreamClock::StreamClock(const at::Device& device) : device_(device) {}
StreamClock::~StreamClock() = default;
bool StreamClock::has_tickets() const { return events_ != nullptr; }

#ifdef NEREUS_GPU_HEADERS

struct StreamClock::Events {
  std::int64_t origin_ns = 0;
  at::cuda::CUDAEvent origin{cudaEventDefault};
  std::deque<at::cuda::CUDAEvent> list;
};

void StreamClock::begin(bool looked_at) {
  events_.reset();
  if (!looked_at || !device_.is_cuda()) return;
  events_ = std::make_unique<Events>();
  torch::cuda::synchronize();  // so that the event and the host's clock are of one moment
  events_->origin.record();
  events_->origin.synchronize();
  events_->origin_ns = now_ns();
}

std::int64_t StreamClock::now() {
  if (!events_) return now_ns();
  events_->list.emplace_back(cudaEventDefault);
  events_->list.back().record();
  return static_cast<std::int64_t>(events_->list.size()) - 1;
}

void StreamClock::settle() {
  if (events_) torch::cuda::synchronize();
}

std::int64_t StreamClock::time_of(std::int64_t ticket) const {
  if (!events_) return ticket;
  const at::cuda::CUDAEvent& event = events_->list[static_cast<std::size_t>(ticket)];
  return events_->origin_ns + std::llround(double{events_->origin.elapsed_time(event)} * 1e6);
}

#else

struct StreamClock::Events {};
void StreamClock::begin(bool) {}
std::int64_t StreamClock::now() { return now_ns(); }
void StreamClock::settle() {}
std::int64_t StreamClock::time_of(std::int64_t ticket) const { return ticket; }

#endif

}  // namespace nereus::worker
