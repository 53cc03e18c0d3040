// The workers of `nereus measure`, several times over: fresh processes each time, one after the
// other, each of which measures everything (measure/machine_processes.hpp says why).
//
// Unless the request states a number there are kProcesses times, and fewer, but at least
// kLeastProcesses, where the next would not end within kQuickSeconds or kFullSeconds. Whether one
// more is begun depends on the clock alone, never on what was measured. Under a launcher every rank
// must come to the same number, and their clocks may not: there it is kProcesses always. Each time
// ranks meet at another port, the launcher's and those above it, since a rank that starts anew
// early must not meet the last time's rank 0.
//
//   Measured m = run_processes(request, {job, num_ranks, 1, scratch}, watch);
//   if (m.outcome.exit_code == 0) measure::join_processes(m.profiles);
#pragma once

#include <string>
#include <vector>

#include "app/measure/measure_machine.hpp"
#include "job/measure.hpp"
#include "launch/supervise.hpp"

namespace nereus::app {

inline constexpr int kProcesses = 8;
inline constexpr int kLeastProcesses = 3;
inline constexpr double kQuickSeconds = 45;
inline constexpr double kFullSeconds = 600;

// Whether another process is begun after `done` of them took so many seconds.
bool goes_on(const MeasureRequest& request, int done, double seconds);

struct MeasuredProcesses {
  std::vector<profile::Profile> profiles{};  // of rank 0; empty where that is not of this process
  launch::Outcome outcome{};                 // of the last: the first that failed
};

// `job` is what all of them are told; where a process's profile goes, and where teams meet, is
// filled in. Jobs of layers lie in job.scratch.
MeasuredProcesses run_processes(const MeasureRequest& request, job::MeasureJob job, int num_ranks,
                                const MeasureWatch& watch);

}  // namespace nereus::app
