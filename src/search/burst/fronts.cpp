#include "search/burst/fronts.hpp"
#include "search/burst/never.hpp"

#include <algorithm>
#include <tuple>

namespace nereus::burst {

namespace {}  // namespace

Front merged(Front a, Front b) {
  a.labels += b.labels;
  a.gap = std::max(a.gap, b.gap);
  a.is_proven = a.is_proven && b.is_proven;
  a.is_stopped = a.is_stopped || b.is_stopped;
  a.notes.insert(a.notes.end(), b.notes.begin(), b.notes.end());
  for (BurstPlan& own : b.plans) a.plans.push_back(std::move(own));
  std::stable_sort(a.plans.begin(), a.plans.end(), [](const BurstPlan& x, const BurstPlan& y) {
    return std::tie(x.seconds, x.rank_seconds) < std::tie(y.seconds, y.rank_seconds);
  });
  double least = kNever;
  std::erase_if(a.plans, [&](const BurstPlan& own) {
    const bool worse = own.rank_seconds >= least;
    least = std::min(least, own.rank_seconds);
    return worse;
  });
  return a;
}

double memory_of(const Problem& problem, const BurstPlan& plan) {
  double trunk = 0, away = 0;
  for (std::size_t i = 0; i < plan.blocks.size(); ++i) {
    const std::vector<double>& memory = problem.blocks[i].memory;
    if (memory.empty()) continue;
    if (plan.blocks[i].first_rank > 0)
      away += *std::max_element(memory.begin(), memory.end());
    else
      trunk += memory[plan.blocks[i].candidate];
  }
  return std::max(trunk, away);
}

double least_memory(const Problem& problem) {
  double sum = 0;
  for (const Block& block : problem.blocks)
    if (!block.memory.empty()) sum += *std::min_element(block.memory.begin(), block.memory.end());
  return sum;
}

bool memory_binds(const Problem& problem) {
  double most = 0;
  for (const Block& block : problem.blocks)
    if (!block.memory.empty()) most += *std::max_element(block.memory.begin(), block.memory.end());
  return most > problem.memory_limit;
}

int first_that_fits(const Problem& problem) {
  const int k = problem.num_candidates();
  std::vector<double> most(problem.blocks.size(), 0);
  int first = k;
  for (int c = k - 1; c >= 0; --c) {
    double sum = 0;
    for (std::size_t i = 0; i < most.size(); ++i) {
      const std::vector<double>& memory = problem.blocks[i].memory;
      if (!memory.empty()) most[i] = std::max(most[i], memory[c]);
      sum += most[i];
    }
    if (sum > problem.memory_limit) break;
    first = c;
  }
  return first;
}

double gap_of(const std::vector<BurstPlan>& plans, const std::vector<BurstPlan>& bound) {
  double gap = 0, least = kNever;
  std::size_t next = 0;
  for (const BurstPlan& any : bound) {
    for (; next < plans.size() && plans[next].seconds <= any.seconds * (1 + 1e-12); ++next)
      least = std::min(least, plans[next].rank_seconds);
    // If none is as fast: the fastest plan.
    const double ours = next > 0 || plans.empty() ? least : plans.front().rank_seconds;
    gap = std::max(gap, ours / any.rank_seconds - 1);
  }
  return gap;
}

}  // namespace nereus::burst
