// Runs the workers of `nereus measure` several times, one after the other, with new processes each
// time. Each run measures everything (for the reason, see measure/machine_processes.hpp).
//
// If the request gives no number, there are kProcesses runs. There are fewer, but at least
// kLeastProcesses, if the next run would not end within kQuickSeconds or kFullSeconds. Only the
// clock decides whether another run starts, never the measurements. Under a launcher all ranks must
// choose the same number, but their clocks differ, so the number is always kProcesses. Each run
// uses another port, starting with the launcher's, because a rank that starts early must not meet
// rank 0 of the previous run.
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

// Whether another run starts after `done` runs took `seconds`.
bool goes_on(const MeasureRequest& request, int done, double seconds);

struct MeasuredProcesses {
  std::vector<profile::Profile> profiles{};  // of rank 0; empty if rank 0 is not in this process
  launch::Outcome outcome{};                 // of the last run, which is the first that failed
};

// `job` has the settings of all runs; this function fills in where a run's profile goes and where
// teams meet. Jobs of layers are in job.scratch.
MeasuredProcesses run_processes(const MeasureRequest& request, job::MeasureJob job, int num_ranks,
                                const MeasureWatch& watch);

}  // namespace nereus::app
