// A collective as a sequence of exchanges: who sends how much to whom along one dimension, and what
// must have come first. Algorithms (simulate/network/algorithms.hpp) write programs;
// simulate/network/collective_run.hpp plays them, rank by rank or folded.
//
// An exchange is done in every group of its dimension at once. Along it
//   kShift   each rank sends to the one `amount` further (round)
//   kXor     each rank sends to the one whose coordinate differs in the bits of `amount`
//   kPairs   the coordinates named send, the others do not
//   kJoin    nobody sends; whoever waits for it waits for all that it comes after
// A message starts when both ends are done with the exchanges of `after`: what was sent to them
// there has arrived and what the sender sent there has left, as with a blocking send and receive.
// And, for in-order channels, when what the sender sent in exchange `follows` has left.
#pragma once

#include <utility>
#include <vector>

namespace nereus::simulate {

struct Exchange {
  enum class Pattern { kShift, kXor, kPairs, kJoin };
  int dimension = 0;
  Pattern pattern = Pattern::kShift;
  int amount = 1;
  std::vector<std::pair<int, int>> pairs = {};
  double bytes = 0;  // each message
  std::vector<int> after = {};
  int follows = -1;
};

using Program = std::vector<Exchange>;

}  // namespace nereus::simulate
