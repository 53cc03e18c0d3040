// Picks one plan of a front.
//
//   amplification   the fastest plan whose rank-seconds are at most that many times those of one
//                   rank
//   time            the fastest plan
//   money           the least seconds x largest count: all ranks that the plan ever uses are paid
//                   for the whole time
//   throughput      the plan within a time limit with the most work of the whole cluster. Work is
//                   measured in ranks: the foreground's W / T (W: seconds on one rank, T: seconds
//                   per step), plus the background's yield x (N - C / T) on ranks that the
//                   foreground does not hold, where C is its rank-seconds. Without a limit the
//                   result would mostly be the foreground on one rank, because C is rarely below W
#pragma once

#include <cstddef>
#include <optional>

#include "search/burst/burst_front.hpp"

namespace nereus::burst {

struct Workload {
  double one_rank = 0;  // seconds per step on one rank
  int num_ranks = 1;
  double yield = 1;  // speed of background work on free ranks, relative to a whole rank
};

// In ranks of work; if not `shared`, only the foreground counts.
double cluster_throughput(const Workload& work, double seconds, double rank_seconds, bool shared);

// These return indices into front.plans; empty if no plan is within the limit.
std::optional<std::size_t> pick_amplification(const Front& front, double one_rank, double limit);
std::size_t pick_money(const Front& front, const std::vector<int>& counts);
std::optional<std::size_t> pick_throughput(const Front& front, const Workload& work,
                                           double most_seconds);

// Number of ranks that the plan ever uses: the largest count of the trunk, plus the ranks of
// branches that leave it.
int ranks_used(const BurstPlan& plan, const std::vector<int>& counts);

}  // namespace nereus::burst
