// Costs of a burst problem (search/burst/problem.hpp) from times of blocks and of links.
//
//   block   seconds(l) of l samples, measured or predicted, plus the time of the gradient
//           all-reduce over the block's ranks: all of it, or its exposed share
//           (search/burst/overlap.hpp)
//   move    time for the most bytes that any rank sends or receives, forward and back
//   memory  of a rank: the state of the block, plus what each of its samples keeps for backward
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
  std::function<double(int samples)> backward{};  // empty: nothing overlaps with it
  double gradient_bytes = 0;
  double state_bytes = 0;
  double kept_bytes = 0;  // per sample
};

struct Prices {
  // All-reduce of gradients over `count` ranks.
  std::function<double(int count, double bytes)> sum{};
  std::function<MoveCost(int samples)> move{};  // cost to move so many samples, both directions
  double overlap = 0;                           // share of a backward pass that all-reduces can use
};

// The costs of DeepPool's planner for one kind of link, with its errors fixed (docs/burst.md): a
// ring all-reduce takes 2 (n - 1) / n bytes / bandwidth and is fully exposed; each direction of a
// move takes bytes / bandwidth + delay.
Prices deeppool_prices(double bandwidth, double move_delay);

double sum_seconds(const BlockCosts& block, const Prices& prices, int count);

// The caller sets the problem's `num_ranks` and its memory limit. `exposed` is the exposed share of
// all-reduces, by candidate; empty: all. Throws Errors if a block takes no time.
Problem make_problem(const std::vector<BlockCosts>& blocks, const std::vector<Edge>& edges,
                     const Prices& prices, int global_batch, const std::vector<int>& counts,
                     const std::vector<double>& exposed = {});

}  // namespace nereus::burst
