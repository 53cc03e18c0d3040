// Records when a rank did what, on the steady clock of its host.
//
// A GPU runs behind the host that launches its work. There, now() records an event on the current
// stream and returns a ticket; time_of() gives its time once the stream has reached it. On CPUs, or
// while the clock is off, now() returns the time itself.
//
//   StreamClock clock(device);
//   clock.begin(true);                               // before the step; true: measure
//   const std::int64_t start = clock.now();
//   ..                                               // launches
//   const std::int64_t end = clock.now();
//   clock.settle();                                  // waits for the device
//   clock.time_of(start);                            // nanoseconds
#pragma once

#include <cstdint>
#include <memory>

#include "worker/device/torch.hpp"

namespace nereus::worker {

std::int64_t now_ns();  // on the steady clock

class StreamClock {
 public:
  explicit StreamClock(const at::Device& device);
  ~StreamClock();
  StreamClock(const StreamClock&) = delete;
  StreamClock& operator=(const StreamClock&) = delete;

  void begin(bool looked_at);
  // Like begin(), without waiting for the device: the first event is assumed to happen immediately.
  // So nothing may be in flight, and all events must be on one stream.
  void begin_at_rest();
  bool has_tickets() const;  // whether results of now() need settle() first
  std::int64_t now();
  void settle();
  bool is_past(std::int64_t ticket) const;  // whether time_of() can give its time
  std::int64_t time_of(std::int64_t ticket) const;

 private:
  struct Events;
  at::Device device_;
  std::unique_ptr<Events> events_;  // while a GPU is measured
};

}  // namespace nereus::worker
