// Availability traces as people publish them, and a plain form of our own. What a file holds is
// seen from its first lines.
//
//   ours      seconds,event,node       a header; event is add or remove
//             seconds,machines         a header; also milliseconds or hours: steps of a number
//   Bamboo    480000,add,node1         milliseconds (Thorpe et al., NSDI 2023); also Oobleck's
//             2021-12-11, 11:11:30, 55 date, time, number of machines
//             0.030,9                  no header: its unit must be said, "hours:FILE"
//   Parcae    [60000, "remove", {"nodes": ["node-3"], "duration": 60000, ...}]   a line an interval
//             (Duan et al., NSDI 2024)
//   Sailor    [{"Time": 63, "GPUs": 4}, ...]     seconds (Strati et al., SOSP 2025)
//
//   Availability a = read_availability("bamboo/p3-trace.csv");   // a file, else one of data/traces
//   Availability b = parse_availability(text, "my.csv");
//
// Generated ones have names instead of files:
//   regular:30:1h:15            30 machines, one less every hour, down to 15
//   poisson:64:100h:30min:7d    64 machines that fail every 100 h each, back after 30 min, for 7 d
//
// Rows of numbers that are out of order are put in order, of several at one time the last counts,
// and a note says so. Anything else that is wrong is an Error with its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulate/job/availability.hpp"

namespace nereus::simulate {

enum class CountUnit { kUnknown, kMilliseconds, kSeconds, kHours };

Availability parse_availability(std::string_view text, const std::string& file,
                                CountUnit unit = CountUnit::kUnknown);

// A file, a name below data/traces, "hours:FILE", or a generated one with its seed.
Availability read_availability(const std::string& what, std::uint64_t seed = 1);

// "regular:..." and "poisson:...", as above.
Availability generated_availability(const std::string& what, std::uint64_t seed);

// Names of the traces that are part of the program.
std::vector<std::string> known_traces();

}  // namespace nereus::simulate
