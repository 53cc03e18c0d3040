// Simulates a step of a regular plan layer by layer: every node of its Chakra graphs
// (chakra/rank_graph.hpp), and collectives step by step on the cluster's network.
//
// A rank runs one node at a time per lane. Its lanes are kernels; collectives of its team (tensor,
// context, experts); collectives that reduce and gather state; messages that it sends; messages
// that it receives. Of the ready nodes, a lane starts the one with the lowest number. So tensor,
// data and pipeline traffic run concurrently, and do not slow each other down even if they use the
// same links.
//
// The time of a collective is simulated by simulate/network for its group (with the group's number
// of ranks per fast domain, and its number of domains), with the fastest algorithm; the time of a
// message follows from its route. Links have the rates of the catalog, without software losses. So
// the result is the time that the network would allow, while cost/ predicts the time that a real
// run takes.
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
  std::int64_t collectives = 0;         // simulated nodes that are collectives
  std::int64_t events = 0;              // starts and ends of nodes, and of steps of collectives
  std::int64_t events_represented = 0;  // events of all ranks, simulated or represented
};

LayerPlay play_layers(const ChakraStep& step, const simulate::Network& network);

}  // namespace nereus::chakra
