#include "search/burst/pick.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace nereus::burst {

double cluster_throughput(const Workload& work, double seconds, double rank_seconds, bool shared) {
  const double foreground = work.one_rank / seconds;
  const double free = std::max(0.0, work.num_ranks - rank_seconds / seconds);
  return foreground + (shared ? work.yield * free : 0);
}

std::optional<std::size_t> pick_amplification(const Front& front, double one_rank, double limit) {
  // Seconds rise and rank-seconds fall: the first within the limit.
  for (std::size_t i = 0; i < front.plans.size(); ++i)
    if (front.plans[i].rank_seconds <= limit * one_rank * (1 + 1e-12)) return i;
  return std::nullopt;
}

std::size_t pick_money(const Front& front, const std::vector<int>& counts) {
  NEREUS_CHECK(!front.plans.empty(), "a plan to pick");
  const auto paid = [&](const BurstPlan& own) { return own.seconds * ranks_used(own, counts); };
  const auto best =
      std::min_element(front.plans.begin(), front.plans.end(),
                       [&](const BurstPlan& a, const BurstPlan& b) { return paid(a) < paid(b); });
  return static_cast<std::size_t>(best - front.plans.begin());
}

std::optional<std::size_t> pick_throughput(const Front& front, const Workload& work,
                                           double most_seconds) {
  std::optional<std::size_t> best;
  double most = 0;
  for (std::size_t i = 0; i < front.plans.size(); ++i) {
    const BurstPlan& own = front.plans[i];
    if (own.seconds > most_seconds * (1 + 1e-12)) break;
    const double worth = cluster_throughput(work, own.seconds, own.rank_seconds, true);
    if (!best || worth > most) {
      best = i;
      most = worth;
    }
  }
  return best;
}

int ranks_used(const BurstPlan& plan, const std::vector<int>& counts) {
  int most = 0;
  for (const BlockPlace& own : plan.blocks)
    most = std::max(most, own.first_rank + counts[own.candidate]);
  return most;
}

}  // namespace nereus::burst
