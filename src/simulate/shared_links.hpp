// Simulates the same step on links that passes, messages and reductions share: what the hardware
// would allow if the software overlapped everything it can.
//
// Every pipeline rank has a stream for passes, and wires out and in, inside its node (or NVLink
// domain) and outside. Flows of simulate/network/network_play.hpp use them; each has at most 1
// second of work per second:
//   pass        its whole stream; the wires of its team's collectives for the share of the time in
//               which they are exposed
//   message     the whole wires between the two ranks, while its sender continues; one after the
//               other per receiving rank
//   reduction   the whole wires of its group, from the start of the virtual stage's last backward
//               pass on all teams; then a last bucket of 5 % (all of it if weight gradients come
//               last)
// Flows on the same wire share it max-min fairly. A flow that does not share takes exactly the time
// of the cost model, so nothing is faster than its wire. A rank's share of its node's network is
// what it gets when all devices of the node send at once (cost/machine_rates.hpp), so ranks of the
// same node do not compete again here.
//
//   SharedLinksStep s = play_on_shared_links(work, step);
//   s.step - s.apart;                    // the cost of sharing links
#pragma once

#include "simulate/step.hpp"

namespace nereus::simulate {

struct SharedLinksStep {
  double step = 0;   // seconds
  double apart = 0;  // the same, with separate wires for passes, messages and reductions
  std::int64_t events = 0;
};

SharedLinksStep play_on_shared_links(const cost::StepWork& work, const SimulatedStep& step);

}  // namespace nereus::simulate
