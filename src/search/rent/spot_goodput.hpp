// What part of its undisturbed pace a job keeps on spot machines that are taken away.
//
// Each machine goes with rate l (per second) and a share p of those asked for is there on average.
// The pace is taken as proportional to the machines that are there. With n machines asked for, a
// loss costs the detection, half a step, and the time m in which a machine receives its new state;
// the machine that comes in its place costs m again (simulate/job/policy.hpp, `ours`):
//
//   goodput = p max(0, 1 - l p n (detect + step / 2 + 2 m))
//
// Where no copy of the state outlives a machine (one machine alone, or state divided over all), the
// job goes back to its last checkpoint instead, saved at Daly's interval
// (simulate/job/job_checkpoints.hpp), with failures every 1 / (l p n) seconds:
//
//   goodput = p daly_useful_share(interval, save, detect + m, 1 / (l p n))
//
// Both leave out that losses come in groups; `simulate --availability` plays a trace as it was.
#pragma once

#include "simulate/job/availability.hpp"

namespace nereus::rent {

struct Preemptions {
  double per_second = 0;  // of one machine
  double present = 1;     // share of the machines asked for
};

// Of a recorded trace: machines that went per hour of a machine; the mean over the most that there
// were.
Preemptions preemptions_of(const simulate::Availability& trace);

struct SpotJob {
  int machines = 1;
  double step = 0;         // seconds
  double state_bytes = 0;  // of the fullest machine
  double bandwidth = 0;    // bytes/s of a machine's link; 0 = not known
  bool copies = true;      // of all state outlive any one machine
};

double spot_goodput(const Preemptions& preemptions, const SpotJob& job);

}  // namespace nereus::rent
