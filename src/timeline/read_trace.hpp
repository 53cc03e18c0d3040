// Reads the events of a Chrome trace for check_trace: one pass over the JSON, with a few words per
// event and without a tree.
//
//   ReadTrace trace = read_trace(text);            // trace.faults is not empty if it is no trace
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/trace_walk.hpp"

namespace nereus::timeline {

struct TraceEvent {
  std::int64_t index = 0;  // in the array
  char phase = 0;          // 0: none, or not a string
  std::int64_t process = 0;
  std::int64_t thread = 0;  // an id that is text gets a number below zero
  std::int64_t start = kNoTime;
  std::int64_t duration = kNoTime;  // nanoseconds
  int name = -1;                    // index in `names`
  int flow = -1;                    // index in `names` of cat, name and id together
  int label = -1;                   // args.name, for metadata
  int num_numbers = 0;              // in args
  int num_others = 0;
  bool has_args = false;
  bool binds_enclosing = false;
};

struct ReadTrace {
  std::vector<TraceEvent> events;
  std::vector<std::string> names;  // all distinct texts
  std::vector<std::string> faults;
};

ReadTrace read_trace(std::string_view json);

}  // namespace nereus::timeline
