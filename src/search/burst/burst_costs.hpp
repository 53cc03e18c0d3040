// Prices of a burst problem (search/burst/problem.hpp) from times of blocks and of links.
//
//   block   seconds(l) of l samples, measured or predicted, and the sum of its gradients over its
//           ranks: all of it, or the share that nothing hides (search/burst/overlap.hpp)
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

double sum_seconds(const BlockCosts& block, const Prices& prices, int count);

// Ranks are `num_ranks` of the problem, set by the caller as is its limit of memory. `exposed`:
// share of sums, by candidate; empty: all. Throws Errors where a block takes no time.
Problem make_problem(const std::vector<BlockCosts>& blocks, const std::vector<Edge>& edges,
                     const Prices& prices, int global_batch, const std::vector<int>& counts,
                     const std::vector<double>& exposed = {});

}  // namespace nereus::burst
