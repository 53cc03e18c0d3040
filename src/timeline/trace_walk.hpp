// Tracks where a parser is in a Chrome trace, and converts its times. The format is that of
// Chrome's trace events: an array of events, or an object with such an array as traceEvents; times
// are microseconds with fractions.
//
//   TraceWalk walk;                                  // a SAX handler reports what opens and closes
//   if (walk.open_object()) event = {};              // an event begins
//   if (walk.at_field() && walk.key() == "ts") event.start = nanoseconds(value);
//   if (walk.close_object()) events.push_back(event);
//   if (!walk.has_events()) fault(kNoEvents);        // at the end
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

namespace nereus::timeline {

inline constexpr const char* kNoEvents =
    "neither an array of events nor an object with traceEvents";

inline constexpr std::int64_t kNoTime = INT64_MIN;
inline constexpr double kMostMicroseconds =
    4e15;  // sums of two such times in nanoseconds fit into 64 bits

// kNoTime if it is not a number, or too large.
inline std::int64_t nanoseconds(double microseconds) {
  if (!(std::abs(microseconds) < kMostMicroseconds)) return kNoTime;
  return std::llround(microseconds * 1000);
}

class TraceWalk {
 public:
  void set_key(const std::string& key) { key_ = key; }
  const std::string& key() const { return key_; }  // the last key that was read

  // Returns true if an event begins.
  bool open_object() {
    const bool begins = at_events();
    in_event_ |= begins;
    ++level_;
    return begins;
  }
  // Returns true if an event ends.
  bool close_object() {
    --level_;
    const bool ends = in_event_ && at_events();
    if (ends) in_event_ = false;
    return ends;
  }
  // Returns true if it is the array of events.
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

  int level() const { return level_; }  // number of open arrays and objects
  // Whether this is the value of that key in the outermost object.
  bool at_top(const char* key) const { return level_ == 1 && !at_events() && key_ == key; }
  bool at_events() const { return level_ == events_level_; }  // in the array of events, between two
  bool at_field() const { return in_event_ && level_ == events_level_ + 1; }
  // In a member of an event, such as args.
  bool in_field() const { return in_event_ && level_ == events_level_ + 2; }
  bool has_events() const { return events_level_ > 0; }

 private:
  static constexpr int kDone = 1 << 30;

  std::string key_;
  int level_ = 0;
  int events_level_ = -1;
  bool in_event_ = false;
};

}  // namespace nereus::timeline
