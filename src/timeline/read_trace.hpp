// The events of a Chrome trace as check_trace needs them: one pass over the JSON, a few words for
// each event, no tree.
//
//   ReadTrace trace = read_trace(text);            // what is no trace at all is in trace.faults
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
  std::int64_t thread = 0;  // text is numbered below zero
  std::int64_t start = kNoTime;
  std::int64_t duration = kNoTime;  // nanoseconds
  int name = -1;                    // index into names
  int flow = -1;                    // cat, name and id together, as an index into names
  int label = -1;                   // args.name, of metadata
  int num_numbers = 0;              // among args
  int num_others = 0;
  bool has_args = false;
  bool binds_enclosing = false;
};

struct ReadTrace {
  std::vector<TraceEvent> events;
  std::vector<std::string> names;  // all texts, each once
  std::vector<std::string> faults;
};

ReadTrace read_trace(std::string_view json);

}  // namespace nereus::timeline
