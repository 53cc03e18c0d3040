// A step of a regular plan played layer by layer: every node of its Chakra graphs
// (chakra/rank_graph.hpp), collectives step by step on the cluster's network.
//
// A rank does one thing a lane at a time: kernels; collectives of its team (tensor, context,
// experts); those that reduce and gather state; messages. Of what is ready a lane starts the node
// of the lowest number. So tensor, data and pipeline traffic run beside each other, which the
// hardware lets them: they use other links, or take turns on their own.
//
// A collective takes what simulate/network plays for its group: as many ranks a fast domain and as
// many domains as the group has, the quickest algorithm; a message what its route carries. Links
// are as the catalogue has them, without what software loses on them, so this says what the network
// would allow; cost/ says what measured runs got.
//
// One rank of every stage stands for the others: their groups do the same at the same time.
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
  double compute = 0;                   // of the busiest rank's kernels
  double exposed = 0;                   // the rest of the step: communication and waiting
  std::int64_t nodes = 0;               // played
  std::int64_t collectives = 0;         // of them
  std::int64_t events = 0;              // starts and ends of nodes, and of the collectives' steps
  std::int64_t events_represented = 0;  // of all ranks
};

LayerPlay play_layers(const ChakraStep& step, const simulate::Network& network);

}  // namespace nereus::chakra
