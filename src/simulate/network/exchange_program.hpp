// A collective as a sequence of exchanges: which ranks send how much to which along one dimension,
// and which exchanges must come first. Algorithms (simulate/network/algorithms.hpp) write programs;
// simulate/network/collective_run.hpp simulates them, for every rank or folded.
//
// An exchange happens in all groups of its dimension at the same time. Along it,
//   kShift   each rank sends to the rank `amount` further (cyclic)
//   kXor     each rank sends to the rank whose coordinate differs in the bits of `amount`
//   kPairs   the listed coordinates send, the others do not
//   kJoin    no rank sends; an exchange that waits for it waits for everything in its `after`
// A message starts when its sender and its receiver are done with the exchanges in `after`: all
// messages to these two ranks have arrived, and the sender's own messages have left, as with a
// blocking send and receive. For in-order channels, the sender's message in exchange `follows` must
// have left, too.
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
  double bytes = 0;  // per message
  std::vector<int> after = {};
  int follows = -1;
};

using Program = std::vector<Exchange>;

}  // namespace nereus::simulate
