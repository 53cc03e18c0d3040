// One profile of the profiles that several processes made of one machine, one after the other.
//
// Repeats within a process share where its memory lies (page colours, alignment, huge pages) and
// the cores that it runs on; a fresh process draws anew, and a later one finds the machine as it is
// by then. So each process measures everything, and every number is the mean of what the processes
// found, with the interval of Student's t over them (profile/statistics.hpp). Counts of bytes and
// repeats are sums, the worst of all jitter is the worst of any process.
//
// An entry that some process lacks is left out, with a note: a layer too quick for its clock, or
// samples that took too long to go on.
//
//   Profile whole = join_processes({first, second, third});
//   whole.machine.kernels[0].seconds.half_width;
#pragma once

#include <vector>

#include "profile/profile.hpp"

namespace nereus::measure {

// At least one; context and origin are those of the first.
profile::Profile join_processes(const std::vector<profile::Profile>& processes);

}  // namespace nereus::measure
