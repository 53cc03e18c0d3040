// The same step on links that passes, messages and reductions share: what the hardware would let a
// plan do, if the software overlapped all that it can.
//
// Every pipeline rank has a stream for passes, and wires out and in, inside its node (or NVLink
// domain) and outside. As flows of simulate/network/network_play.hpp, each 1 second of work a
// second at most:
//   pass        its stream wholly; the wires of its team's collectives for the share of the time in
//               which those are exposed
//   message     the wires between the two ranks wholly, while its sender goes on; one after the
//               other to each rank
//   reduction   the wires of its group wholly, from the start of the virtual stage's last backward
//               pass on all teams; a last bucket of 5 % after it (all of it where weight gradients
//               come last)
// Where flows meet on a wire they share it max-min fairly; alone they take exactly what the cost
// model says, so nothing is faster than its wire. A rank's share of its node's network is what it
// gets when all devices of the node send at once (cost/machine_rates.hpp), so ranks of one node do
// not meet here again.
//
//   SharedLinksStep s = play_on_shared_links(work, step);
//   s.step - s.apart;                    // what meeting on links costs
#pragma once

#include "simulate/step.hpp"

namespace nereus::simulate {

struct SharedLinksStep {
  double step = 0;   // seconds
  double apart = 0;  // the same with wires of their own for passes, messages and reductions
  std::int64_t events = 0;
};

SharedLinksStep play_on_shared_links(const cost::StepWork& work, const SimulatedStep& step);

}  // namespace nereus::simulate
