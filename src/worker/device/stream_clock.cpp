#include "worker/device/stream_clock.hpp"

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
  std::deque<at::cuda::CUDAEvent> list;  // made once; the first is the origin
  std::size_t used = 0;
  bool one_stream = false;

  at::cuda::CUDAEvent& record() {
    if (used == list.size()) list.emplace_back(cudaEventDefault);
    list[used].record();
    return list[used++];
  }
};

void StreamClock::begin(bool looked_at) {
  events_.reset();
  if (!looked_at || !device_.is_cuda()) return;
  events_ = std::make_unique<Events>();
  torch::cuda::synchronize();  // so that the event and the host's clock are of one moment
  events_->record().synchronize();
  events_->origin_ns = now_ns();
}

void StreamClock::begin_at_rest() {
  if (!device_.is_cuda()) return;
  if (!events_) events_ = std::make_unique<Events>();
  events_->used = 0;
  events_->one_stream = true;
}

std::int64_t StreamClock::now() {
  if (!events_) return now_ns();
  events_->record();
  if (events_->used == 1) events_->origin_ns = now_ns();
  return static_cast<std::int64_t>(events_->used) - 1;
}

bool StreamClock::is_past(std::int64_t ticket) const {
  return !events_ || events_->list[ticket].query();
}

void StreamClock::settle() {
  if (!events_ || events_->used == 0) return;
  if (events_->one_stream)
    events_->list[events_->used - 1].synchronize();
  else
    torch::cuda::synchronize();
}

std::int64_t StreamClock::time_of(std::int64_t ticket) const {
  if (!events_) return ticket;
  const at::cuda::CUDAEvent& event = events_->list[ticket];
  return events_->origin_ns + std::llround(double{events_->list.front().elapsed_time(event)} * 1e6);
}

#else

struct StreamClock::Events {};
void StreamClock::begin(bool) {}
void StreamClock::begin_at_rest() {}
std::int64_t StreamClock::now() { return now_ns(); }
void StreamClock::settle() {}
bool StreamClock::is_past(std::int64_t) const { return true; }
std::int64_t StreamClock::time_of(std::int64_t ticket) const { return ticket; }

#endif

}  // namespace nereus::worker
