// Where a parser stands in a Chrome trace, and what its times are. The format is that of Chrome's
// trace events: an array of events, or an object that holds one as traceEvents; times in
// microseconds, with parts of one.
//
//   TraceWalk walk;                                  // told by a SAX handler what opens and closes
//   if (walk.open_object()) event = {};              // an event begins
//   if (walk.at_field() && walk.key() == "ts") event.start = nanoseconds(value);
//   if (walk.close_object()) events.push_back(event);
//   if (!walk.has_events()) fault(kNoEvents);        // after the last
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

namespace nereus::timeline {

inline constexpr const char* kNoEvents =
    "neither an array of events nor an object with traceEvents";

inline constexpr std::int64_t kNoTime = INT64_MIN;
inline constexpr double kMostMicroseconds =
    4e15;  // as nanoseconds two of them still fit in 64 bits

// kNoTime where it is no number, or too large.
inline std::int64_t nanoseconds(double microseconds) {
  if (!(std::abs(microseconds) < kMostMicroseconds)) return kNoTime;
  return std::llround(microseconds * 1000);
}

class TraceWalk {
 public:
  void set_key(const std::string& key) { key_ = key; }
  const std::string& key() const { return key_; }  // the last that was read

  // True where an event begins.
  bool open_object() {
    const bool begins = at_events();
    in_event_ |= begins;
    ++level_;
    return begins;
  }
  // True where an event ends.
  bool close_object() {
    --level_;
    const bool ends = in_event_ && at_events();
    if (ends) in_event_ = false;
    return ends;
  }
  // True where it is the array of events.
  bool open_array() {
    const bool holds = events_level_ < 0 && (level_ == 0 || at_top("traceEvents"));
    ++level_;
    if (holds) events_level_ = level_;
    return holds;
  }
  void close_array() {
    --level_;
    if (level_ < events_level_) events_level_ = kDone;
  }

  int level() const { return level_; }  // arrays and objects that are open
  // A value of that key in the outermost object.
  bool at_top(const char* key) const { return level_ == 1 && !at_events() && key_ == key; }
  bool at_events() const { return level_ == events_level_; }  // in their array, between two
  bool at_field() const { return in_event_ && level_ == events_level_ + 1; }
  bool in_field() const { return in_event_ && level_ == events_level_ + 2; }  // as of args
  bool has_events() const { return events_level_ > 0; }

 private:
  static constexpr int kDone = 1 << 30;

  std::string key_;
  int level_ = 0;
  int events_level_ = -1;
  bool in_event_ = false;
};

}  // namespace nereus::timeline
