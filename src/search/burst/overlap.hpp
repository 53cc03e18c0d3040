// Burst plans with gradient all-reduces that overlap with the backward pass of the whole plan. The
// exposed time depends on all blocks together:
//
//   exposed = max(0, sum of all-reduces - overlap x sum of backward passes)   of the trunk's blocks
//
// The block-by-block search (search/burst/burst_front.hpp) therefore solves approximate problems:
// one in which each block exposes the share that it would expose if all blocks had its count, and
// some problems in which only a part mu, 0 to 1, of the exposed time counts:
//
//   mu x (all-reduce - overlap x backward)       per block; in total never more than `exposed`
//
// The least seconds of a problem with mu are a lower bound for all plans. The plans found, and
// those with one count for all blocks, are then evaluated with their exact exposed time, and
// improved by a local search (search/burst/neighbours.hpp); dominated plans are dropped. So all
// reported costs are exact. `time_gap` bounds how far the fastest plan may be from the optimum; it
// is known only if there are few counts and the trunk may use all ranks. If nothing can be exposed,
// the first approximate problem is exact.
//
//   Overlapped own = make_overlapped(blocks, edges, prices, 32, candidate_counts(32, 8));
//   own.problem.num_ranks = 8;
//   const Front front = solve(own);
#pragma once

#include "search/burst/burst_costs.hpp"
#include "search/burst/burst_front.hpp"

namespace nereus::burst {

// The all-reduces of the trunk's blocks in a plan, and their exposed time. Each all-reduce exposes
// the same share of its time, and its ranks wait for that share.
struct Sums {
  double seconds = 0;
  double rank_seconds = 0;
  double hiding = 0;  // seconds that can overlap with all-reduces

  double exposed() const { return seconds > hiding ? seconds - hiding : 0; }
  double exposed_held() const { return exposed() > 0 ? exposed() / seconds * rank_seconds : 0; }
};

struct Overlapped {
  Problem problem;              // with the shares exposed if all blocks had the same count
  std::vector<double> exposed;  // exposed share of all-reduces in `problem`, by candidate
  std::vector<std::vector<double>> sums, hiding;  // seconds, by block and candidate
  bool is_some = false;  // some counts are left out, so its bounds do not hold for all plans
  // All its plans are plans of the problems before it, whose bounds hold: it only helps to find.
  bool is_part = false;
};

Overlapped make_overlapped(const std::vector<BlockCosts>& blocks, const std::vector<Edge>& edges,
                           const Prices& prices, int global_batch, const std::vector<int>& counts);

Front solve(const Overlapped& overlapped);
// The front of several problems: the first must have all counts, the others some of them.
Front solve(const std::vector<Overlapped>& problems);

}  // namespace nereus::burst
