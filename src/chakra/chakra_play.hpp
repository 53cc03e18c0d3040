// Simulates a step of a regular plan layer by layer: every node of its Chakra graphs
// (chakra/rank_graph.hpp), and collectives step by step on the cluster's network.
//
// A rank runs one node at a time per lane. The lanes are kernels; collectives of its team (tensor,
// context, experts); collectives that reduce and gather state; messages. Of the ready nodes, a lane
// starts the one with the lowest number. So tensor, data and pipeline traffic run concurrently, as
// the hardware allows: they use different links, or share them.
//
// The time of a collective is simulated by simulate/network for its group (with the group's ranks
// per fast domain, and its number of domains), with the fastest algorithm; that of a message
// follows from its route. Links have the rates of the catalog, without software losses. So the
// result is what the network would allow, while cost/ predicts what runs measure.
//
// One rank per stage represents the others, because their groups do the same at the same time.
//
//   LayerPlay play = play_layers(step, network);
//   play.seconds;
#pragma once

#include <cstdint>

#include "chakra/write_chakra.hpp"
#include "simulate/network/network.hpp"

namespace nereus::chakra {

struct LayerPlay {
  double seconds = 0;                   // of the step
  double compute = 0;                   // seconds of the busiest rank's kernels
  double exposed = 0;                   // the rest of the step: communication and waiting
  std::int64_t nodes = 0;               // simulated nodes
  std::int64_t collectives = 0;         // number of them that are collectives
  std::int64_t events = 0;              // starts and ends of nodes, and of steps of collectives
  std::int64_t events_represented = 0;  // of all ranks
};

LayerPlay play_layers(const ChakraStep& step, const simulate::Network& network);

}  // namespace nereus::chakra
