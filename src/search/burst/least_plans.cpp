// The plans with the least weighted costs if all branches stay: first their candidates along the
// trunk, then the cheapest way through each part between.
#include <algorithm>

#include "base/parallel.hpp"
#include "search/burst/least.hpp"
#include "search/burst/never.hpp"

namespace nereus::burst {

namespace {

void operator+=(KnownPlan& sum, const KnownPlan& more) {
  sum.seconds += more.seconds;
  sum.rank_seconds += more.rank_seconds;
}

// The candidate before `to` on the cheapest way.
std::size_t cheapest_before(const std::vector<double>& best, const std::vector<double>& matrix,
                            std::size_t to) {
  std::size_t least = 0;
  double cost = kNever;
  for (std::size_t k = 0; k < best.size(); ++k)
    if (const double sum = best[k] + matrix[k * best.size() + to]; sum < cost) {
      cost = sum;
      least = k;
    }
  return least;
}

}  // namespace

KnownPlan LeastCosts::cost_of(int block, std::size_t candidate) const {
  const double seconds = problem_.blocks[block].seconds[candidate];
  return {seconds, seconds * problem_.counts[candidate]};
}

KnownPlan LeastCosts::cheapest(const Weight& weight, const Link& link, std::size_t from,
                               std::size_t to) {
  KnownPlan sum;
  for (const Branch& own : link.branches) sum += cheapest(weight, own, from, to);
  return sum;
}

KnownPlan LeastCosts::cheapest(const Weight& weight, const Branch& branch, std::size_t from,
                               std::size_t to) {
  if (branch.edge()) {
    const Moves::Table& moves = moves_.of(branch.bytes, false);
    return {moves.seconds[from * k_ + to], moves.rank_seconds[from * k_ + to]};
  }
  const std::vector<int>& blocks = branch.inner.blocks;
  std::vector<const Link*> hops = {&branch.ends[0]};  // before each block, and behind the last
  for (const Link& own : branch.inner.links) hops.push_back(&own);
  hops.push_back(&branch.ends[1]);
  std::vector<Matrix> matrices;
  for (const Link* own : hops) matrices.push_back(link_matrix(weight, *own));
  std::vector<std::vector<double>> best(blocks.size(), std::vector<double>(k_, kNever));
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (std::size_t k = 0; k < k_; ++k) {
      const std::size_t before = i == 0 ? from : cheapest_before(best[i - 1], matrices[i], k);
      best[i][k] = (i == 0 ? 0 : best[i - 1][before]) + matrices[i][before * k_ + k] +
                   block_cost(weight, blocks[i], k);
    }
  KnownPlan sum;
  for (std::size_t i = blocks.size(), next = to; i-- > 0;) {
    const std::size_t own = cheapest_before(best[i], matrices[i + 1], next);
    sum += cheapest(weight, *hops[i + 1], own, next);
    sum += cost_of(blocks[i], own);
    if (i == 0) sum += cheapest(weight, *hops[0], from, own);
    next = own;
  }
  return sum;
}

void LeastCosts::add_plans(const Chain& chain) {
  const std::size_t n = weights_.size(), length = blocks_.size();
  std::vector<double> best(k_ * n, 0.0), next;
  std::vector<std::vector<std::size_t>> before(length, std::vector<std::size_t>(k_ * n, 0));
  for (std::size_t k = 0; k < k_; ++k) add_block(0, k, &best[k * n]);
  for (std::size_t i = 0; i + 1 < length; ++i) {
    next.assign(k_ * n, kNever);
    for (std::size_t to = 0; to < k_; ++to) {
      for (std::size_t from = 0; from < k_; ++from) {
        const double* between = &links_[i]->of_stays()[(from * k_ + to) * n];
        for (std::size_t w = 0; w < n; ++w)
          if (const double sum = best[from * n + w] + between[w]; sum < next[to * n + w]) {
            next[to * n + w] = sum;
            before[i + 1][to * n + w] = from;
          }
      }
      add_block(i + 1, to, &next[to * n]);
    }
    best.swap(next);
  }
  std::vector<std::vector<std::size_t>> trunks(n, std::vector<std::size_t>(length));
  for (std::size_t w = 0; w < n; ++w) {
    std::size_t at = 0;
    for (std::size_t k = 1; k < k_; ++k)
      if (best[k * n + w] < best[at * n + w]) at = k;
    for (std::size_t i = length; i-- > 0; at = before[i][at * n + w]) {
      trunks[w][i] = at;
      used_.insert(at);
    }
  }
  plans_.resize(n);
  // Moves were all worked out before.
  parallel_for(n, [&](std::size_t w) {
    for (std::size_t i = 0; i < length; ++i) {
      plans_[w] += cost_of(blocks_[i], trunks[w][i]);
      if (i > 0)
        plans_[w] += cheapest(weights_[w], chain.links[i - 1], trunks[w][i - 1], trunks[w][i]);
    }
  });
}

}  // namespace nereus::burst
