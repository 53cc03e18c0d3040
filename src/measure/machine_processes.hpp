// Combines the profiles that several processes made of one machine, one after the other.
//
// Repeats within a process share the position of its memory (page colors, alignment, huge pages)
// and its cores. A new process gets new ones, and a later process sees the machine at a later time.
// So each process measures everything, and every number is the mean over processes, with Student's
// t interval (profile/statistics.hpp). Counts of bytes and repeats are sums; the worst jitter is
// the worst of any process.
//
// An entry that some process lacks is left out, with a note: a layer that is too fast for the
// process's clock, or samples that took too long to continue.
//
//   Profile whole = join_processes({first, second, third});
//   whole.machine.kernels[0].seconds.half_width;
#pragma once

#include <vector>

#include "profile/profile.hpp"

namespace nereus::measure {

// Needs at least one; context and origin are those of the first.
profile::Profile join_processes(const std::vector<profile::Profile>& processes);

}  // namespace nereus::measure
