// Prices of a burst problem (search/burst/problem.hpp) from times of blocks and of links.
//
//   block   seconds(l) of l samples, measured or predicted, and what is not hidden of the sum of
//   its
//           gradients over its ranks. Buckets are summed while the backward pass goes on; of all
//           sums together at most `overlap` of all backward passes is hidden, and every block has
//           the share of it that all blocks on its count would have: exact where all have that
//           count, an estimate elsewhere
//   move    the most bytes that a rank sends or takes, forward and back
//   memory  of a rank: state of the block, and of each of its samples what is kept for backward
//
//   Prices prices = deeppool_prices(266e9, 40e-6);
//   Problem p = make_problem(blocks, edges, prices, 32, candidate_counts(32, 8));
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "search/burst/problem.hpp"

namespace nereus::burst {

struct BlockCosts {
  std::string name{};
  std::function<double(int samples)> seconds{};   // forward and backward
  std::function<double(int samples)> backward{};  // empty: hides nothing
  double gradient_bytes = 0;
  double state_bytes = 0;
  double kept_bytes = 0;  // of a sample
};

struct Prices {
  std::function<double(int count, double bytes)> sum{};  // of gradients over so many ranks
  std::function<MoveCost(int samples)> move{};           // of so many, both ways
  double overlap = 0;                                    // share of a backward pass
};

// As DeepPool's planner prices one kind of link, its faults mended (docs/burst.md): sums in a ring,
// 2 (n - 1) / n bytes / bandwidth, nothing hidden; each way of a move bytes / bandwidth + delay.
Prices deeppool_prices(double bandwidth, double move_delay);

// Ranks are `num_ranks` of the problem, set by the caller as is its limit of memory. Throws Errors
// where a block takes no time.
Problem make_problem(const std::vector<BlockCosts>& blocks, const std::vector<Edge>& edges,
                     const Prices& prices, int global_batch, const std::vector<int>& counts);

}  // namespace nereus::burst
