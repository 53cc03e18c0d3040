// The share of its undisturbed speed that a job keeps on spot machines that may be taken away.
//
// Each machine is taken away with rate l (per second), and on average a share p of the requested
// machines is available. The speed is assumed to be proportional to the available machines. With n
// requested machines, a loss costs the detection, half a step, and the time m in which a machine
// receives its new state. When a machine joins as the replacement, m is lost again
// (simulate/job/policy.hpp, `ours`):
//
//   goodput = p max(0, 1 - l p n (detect + step / 2 + 2 m))
//
// If no copy of the state survives a machine (a single machine, or state sharded over all of them),
// the job instead returns to its last checkpoint, saved at Daly's interval
// (simulate/job/job_checkpoints.hpp), with a failure every 1 / (l p n) seconds:
//
//   goodput = p daly_useful_share(interval, save, detect + m, 1 / (l p n))
//
// Both formulas ignore that several machines are often lost together; `simulate --availability`
// replays a recorded trace.
#pragma once

#include "simulate/job/availability.hpp"

namespace nereus::rent {

struct Preemptions {
  double per_second = 0;  // per machine
  double present = 1;     // available share of the requested machines
};

// From a recorded trace: the rate of losses per machine, and the mean number of machines
// divided by the maximum.
Preemptions preemptions_of(const simulate::Availability& trace);

struct SpotJob {
  int machines = 1;
  double step = 0;         // seconds
  double state_bytes = 0;  // on the fullest machine
  double bandwidth = 0;    // bytes/s of a machine's link; 0 = unknown
  bool copies = true;      // copies of all state survive the loss of any one machine
};

double spot_goodput(const Preemptions& preemptions, const SpotJob& job);

}  // namespace nereus::rent
