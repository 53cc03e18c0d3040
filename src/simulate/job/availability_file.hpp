// Reads availability traces in published formats, and in a simple format of our own. The format is
// detected from the first lines.
//
//   ours      seconds,event,node       a header; event is add or remove
//             seconds,machines         a header; also milliseconds or hours: number of machines
//   Bamboo    480000,add,node1         milliseconds (Thorpe et al., NSDI 2023); also Oobleck's
//             2021-12-11, 11:11:30, 55 date, time, number of machines
//             0.030,9                  no header: its unit must be given, "hours:FILE"
//   Parcae    [60000, "remove", {"nodes": ["node-3"], "duration": 60000, ...}]   per interval
//             (Duan et al., NSDI 2024)
//   Sailor    [{"Time": 63, "GPUs": 4}, ...]     seconds (Strati et al., SOSP 2025)
//
//   Availability a = read_availability("bamboo/p3-trace.csv");   // a file, or one in data/traces
//   Availability b = parse_availability(text, "my.csv");
//
// Generated traces have names instead of files:
//   regular:30:1h:15            30 machines, one less every hour, down to 15
//   poisson:64:100h:30min:7d    64 machines, each fails every 100 h, is back after 30 min, for 7 d
//
// In formats with numbers of machines, rows that are out of order are sorted, and of several rows
// with the same time the last one counts; a note reports both. Anything else that is wrong is an
// Error with its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulate/job/availability.hpp"

namespace nereus::simulate {

enum class CountUnit { kUnknown, kMilliseconds, kSeconds, kHours };

Availability parse_availability(std::string_view text, const std::string& file,
                                CountUnit unit = CountUnit::kUnknown);

// `what` is a file, a name in data/traces, "hours:FILE", or a generated trace, which uses `seed`.
Availability read_availability(const std::string& what, std::uint64_t seed = 1);

// "regular:..." or "poisson:...", as above.
Availability generated_availability(const std::string& what, std::uint64_t seed);

// Names of the built-in traces.
std::vector<std::string> known_traces();

}  // namespace nereus::simulate
