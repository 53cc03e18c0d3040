// Simulates a simulated step again, on links that passes, messages and reductions share: what the
// hardware would allow if the software overlapped everything that can overlap.
//
// Every pipeline rank has a stream for passes, one outgoing and one incoming wire inside its node
// (or NVLink domain), and one of each outside it. Flows (the transfers of
// simulate/network/network_play.hpp) use the streams and wires, each of which does at most 1 second
// of work per second:
//   pass        uses its whole stream; also the wires of its team's collectives, for the share of
//               the time in which these are exposed
//   message     uses the whole wires between the two ranks, while its sender continues. Messages
//               from one rank to another go one after the other
//   reduction   uses the whole wires of its group. It starts when all teams have reached the
//               virtual stage's last backward pass; the last bucket of 5 % starts when that pass
//               has ended. If weight gradients come last, all of it starts after the last pass
// Flows on the same wire share it max-min fairly. A flow that does not share takes exactly the time
// of the cost model, so nothing is faster than its wire. A rank's share of its node's network is
// the rate that it gets when all devices of the node send at once (cost/machine_rates.hpp), so
// ranks of the same node do not compete again here.
//
//   SharedLinksStep s = play_on_shared_links(work, step);
//   s.step - s.apart;                    // the cost of sharing links
#pragma once

#include "simulate/step.hpp"

namespace nereus::simulate {

struct SharedLinksStep {
  double step = 0;   // seconds
  double apart = 0;  // seconds, with separate wires for passes, messages and reductions
  std::int64_t events = 0;
};

SharedLinksStep play_on_shared_links(const cost::StepWork& work, const SimulatedStep& step);

}  // namespace nereus::simulate
