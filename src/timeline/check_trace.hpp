// Checks that Perfetto's trace processor reads a Chrome trace as intended. The check is independent
// of the writer (timeline/chrome_trace.hpp): it reads any JSON trace, including those of PyTorch's
// profiler.
//
// Rules, from Perfetto's JSON importer and slice tracker (src/trace_processor/importers, 2025):
//   - the file is an array of events, or an object with the array traceEvents
//   - ph is one of B E X i I R C s t f b e n M; all but M have a time ts that is not negative
//   - an X has a dur that is not negative; every ts and dur is rounded separately to nanoseconds
//   - slices of one thread must be nested or disjoint: one that starts inside another and ends
//     after it is dropped. Every B has its E
//   - a flow has s and f with equal (cat, name, id), s not after f; each end is in a slice of its
//     thread (f binds to the next slice if bp is not "e")
//   - a counter has args, all of them numbers
//   - every process and thread with slices has a name
//
//   TraceCheck check = check_trace(text);
//   if (!check.faults.empty()) fmt::print("{}\n", check.faults[0]);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::timeline {

struct TraceCheck {
  std::vector<std::string> faults;  // the first ones; empty: the trace is valid
  std::int64_t num_faults = 0;
  std::int64_t num_slices = 0;
  std::int64_t num_flows = 0;
  std::int64_t num_samples = 0;  // of counters
  int num_processes = 0;
  int num_threads = 0;
  double seconds = 0;  // from the first to the last time
};

inline constexpr std::size_t kMostFaults = 20;  // that are listed

TraceCheck check_trace(std::string_view json);
// Compressed or not. Throws Errors if the file cannot be read.
TraceCheck check_trace_file(const std::string& path);

}  // namespace nereus::timeline
