// Which plan of a front to take.
//
//   amplification   the fastest whose rank-seconds are at most that many times those of one rank
//   time            the fastest
//   money           the least seconds x widest count: all ranks that it ever uses are paid for
//                   throughout
//   throughput      the most work of the whole cluster among plans that are no slower than a limit.
//                   In ranks' worth of work: the foreground's W / T (W: seconds on one rank, T: of
//                   a step) and, of the ranks it does not hold, what background jobs make of them:
//                   yield x (N - C / T), C its rank-seconds. Without a limit that would mostly be
//                   the foreground on one rank, for C is seldom below W
#pragma once

#include <cstddef>
#include <optional>

#include "search/burst/burst_front.hpp"

namespace nereus::burst {

struct Workload {
  double one_rank = 0;  // seconds of a step on one rank
  int num_ranks = 1;
  double yield = 1;  // of background work in ranks that are free, of what it makes of a whole rank
};

// In ranks' worth of work; `shared` without it is the foreground alone.
double cluster_throughput(const Workload& work, double seconds, double rank_seconds, bool shared);

// Indices into front.plans; none where no plan is within the limit.
std::optional<std::size_t> pick_amplification(const Front& front, double one_rank, double limit);
std::size_t pick_money(const Front& front, const std::vector<int>& counts);
std::optional<std::size_t> pick_throughput(const Front& front, const Workload& work,
                                           double most_seconds);

// Ranks that the plan ever uses: the trunk's widest, and those of branches that leave.
int ranks_used(const BurstPlan& plan, const std::vector<int>& counts);

}  // namespace nereus::burst
