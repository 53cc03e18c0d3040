// Sums of gradients hide behind the backward pass of the whole plan, of which a block alone knows
// nothing:
//
//   exposed = max(0, all sums - overlap x all backward passes)     of the trunk's blocks
//
// What is solved block by block (search/burst/burst_front.hpp) are problems that come near: one in
// which each block exposes the share that it would if all had its count, and some in which all
// exposed time counts for a part mu,
//
//   mu x (sums - overlap x backward)       of each block; never more than exposed, for mu of 0 to 1
//
// whose least seconds are a bound from below for all plans. Their plans, and those of one count for
// all, then get what they expose by their own counts, and from there on better ones are looked for
// by these (search/burst/neighbours.hpp); those that lie behind others are dropped. So every price
// is the model's own, and `time_gap` says how far the fastest plan may be from the best there is,
// where that is known: with few counts, on the trunk. Where nothing can be exposed the first
// problem is exact.
//
//   Overlapped own = make_overlapped(blocks, edges, prices, 32, candidate_counts(32, 8));
//   own.problem.num_ranks = 8;
//   const Front front = solve(own);
#pragma once

#include "search/burst/burst_costs.hpp"
#include "search/burst/burst_front.hpp"

namespace nereus::burst {

// Of the trunk's blocks of a plan, and what nothing hides of it. The ranks of a sum wait for as
// great a share of it as of all sums.
struct Sums {
  double seconds = 0;
  double rank_seconds = 0;
  double hiding = 0;  // seconds

  double exposed() const { return seconds > hiding ? seconds - hiding : 0; }
  double exposed_held() const { return exposed() > 0 ? exposed() / seconds * rank_seconds : 0; }
};

struct Overlapped {
  Problem problem;                                // as if all had a block's count
  std::vector<double> exposed;                    // share of sums in it, by candidate
  std::vector<std::vector<double>> sums, hiding;  // seconds, by block and candidate
  bool is_some = false;  // counts are left out, so that no bound of its is one of all plans
};

Overlapped make_overlapped(const std::vector<BlockCosts>& blocks, const std::vector<Edge>& edges,
                           const Prices& prices, int global_batch, const std::vector<int>& counts);

Front solve(const Overlapped& overlapped);
// The best of several, of which the first has all counts and the others some of them.
Front solve(const std::vector<Overlapped>& problems);

}  // namespace nereus::burst
