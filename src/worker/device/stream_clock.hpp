// When a rank did what, on the steady clock of its host.
//
// A GPU runs behind the host that launches its work. There a time is an event on the current
// stream, and its value is known once the stream has come to it: now() gives a ticket, time_of()
// what it stands for. On CPUs, and while nobody looks, now() is the time itself.
//
//   StreamClock clock(device);
//   clock.begin(true);                               // before the step
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

std::int64_t now_ns();  // of the steady clock

class StreamClock {
 public:
  explicit StreamClock(const at::Device& device);
  ~StreamClock();
  StreamClock(const StreamClock&) = delete;
  StreamClock& operator=(const StreamClock&) = delete;

  void begin(bool looked_at);
  // Asks the device for nothing: its first event is taken to be of the moment it is asked for, so
  // nothing may be under way then, and all must be of one stream.
  void begin_at_rest();
  bool has_tickets() const;  // what now() gives has to be settled first
  std::int64_t now();
  void settle();
  bool is_past(std::int64_t ticket) const;  // so that time_of() knows it
  std::int64_t time_of(std::int64_t ticket) const;

 private:
  struct Events;
  at::Device device_;
  std::unique_ptr<Events> events_;  // while a GPU is looked at
};

}  // namespace nereus::worker
