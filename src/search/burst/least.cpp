#include "search/burst/least.hpp"

#include <algorithm>
#include <cmath>

#include "base/parallel.hpp"
#include "search/burst/branch_rules.hpp"
#include "search/burst/min_plus.hpp"
#include "search/burst/never.hpp"

namespace nereus::burst {

namespace {
constexpr int kBetween = 24;  // weights between the two ends
}  // namespace

std::vector<Weight> usual_weights(int most_ranks) {
  // A plan's rank-seconds are between its seconds and most_ranks times that, and so are slopes of
  // fronts: from 1 to 1 / most_ranks, and slightly beyond.
  std::vector<Weight> out = {{1, 0}, {0, 1}};
  const double least = 0.05 / most_ranks, most = 4;
  for (int i = 0; i < kBetween; ++i)
    out.push_back({1, least * std::pow(most / least, static_cast<double>(i) / (kBetween - 1))});
  return out;
}

double LeastCosts::block_cost(const Weight& weight, int block, std::size_t candidate) const {
  const double seconds = problem_.blocks[block].seconds[candidate];
  return weight.seconds * seconds + weight.rank_seconds * (seconds * problem_.counts[candidate]);
}

LeastCosts::Matrix LeastCosts::edge(const Weight& weight, double bytes, bool away) {
  const Moves::Table& moves = moves_.of(bytes, away);
  Matrix out(k_ * k_);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = weight.seconds * moves.seconds[i] + weight.rank_seconds * moves.rank_seconds[i];
  return out;
}

// Adds the block to the costs that end at it; candidates from `candidates` on are not allowed.
void LeastCosts::add_block(Matrix& to, const Weight& weight, int block,
                           std::size_t candidates) const {
  std::vector<double> own(k_, kNever);
  for (std::size_t k = 0; k < candidates; ++k) own[k] = block_cost(weight, block, k);
  for (std::size_t i = 0; i < k_; ++i)
    for (std::size_t k = 0; k < k_; ++k) to[i * k_ + k] += own[k];
}

LeastCosts::Matrix LeastCosts::branch_matrix(const Weight& weight, const Branch& branch,
                                             bool away) {
  problem_.check_stop();
  if (branch.edge()) return edge(weight, branch.bytes, false);
  const std::size_t candidates = away ? away_k_ : k_;
  const auto end = [&](const Link& own) {
    return away ? edge(weight, own.bytes(), true) : link_matrix(weight, own);
  };
  Matrix out = end(branch.ends[0]);
  add_block(out, weight, branch.inner.blocks[0], candidates);
  for (std::size_t i = 0; i < branch.inner.links.size(); ++i) {
    out = min_plus(out, link_matrix(weight, branch.inner.links[i]), k_);
    add_block(out, weight, branch.inner.blocks[i + 1], candidates);
  }
  return min_plus(out, end(branch.ends[1]), k_);
}

LeastCosts::Matrix LeastCosts::link_matrix(const Weight& weight, const Link& link) {
  if (link.plain()) return edge(weight, link.bytes(), false);
  Matrix sum(k_ * k_, 0.0);
  for (const Branch& branch : link.branches) {
    const Matrix own = branch_matrix(weight, branch, false);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i];
  }
  return sum;
}

void LeastCosts::add_block(std::size_t block, std::size_t candidate, double* sums) const {
  for (std::size_t w = 0; w < weights_.size(); ++w)
    sums[w] += block_cost(weights_[w], blocks_[block], candidate);
}

bool LeastCosts::leaves(const Link& link, std::size_t branch, std::size_t home) const {
  return away_k_ > 0 && branch != home && may_leave(problem_, link.branches[branch]);
}

// By candidates and weight, on all threads. The first weight runs before the others, so that all
// moves are computed before several threads read them.
std::vector<double> LeastCosts::for_all_weights(
    const std::function<Matrix(const Weight& weight)>& of) const {
  const std::size_t n = weights_.size();
  std::vector<Matrix> each(n);
  each[0] = of(weights_[0]);
  parallel_for(n - 1, [&](std::size_t i) { each[i + 1] = of(weights_[i + 1]); });
  std::vector<double> out(k_ * k_ * n);
  for (std::size_t i = 0; i < k_ * k_; ++i)
    for (std::size_t w = 0; w < n; ++w) out[i * n + w] = each[w][i];
  return out;
}

const LeastCosts::Part& LeastCosts::branch_part(const Branch& branch, bool leaves) {
  const auto [at, first] = branch_parts_.try_emplace({shapes_.of(branch), leaves});
  Part& part = at->second;
  if (!first) return part;
  const std::size_t n = weights_.size();
  part.bound =
      for_all_weights([&](const Weight& weight) { return branch_matrix(weight, branch, false); });
  if (!leaves) return part;
  part.stays = part.bound;
  const Matrix away = branch_matrix({0, 1}, branch, true);
  for (std::size_t i = 0; i < away.size(); ++i) {
    const double held = std::min(away[i], part.stays[i * n + 1]);  // only rank-seconds
    for (std::size_t w = 0; w < n; ++w)
      part.bound[i * n + w] = std::min(part.bound[i * n + w], weights_[w].rank_seconds * held);
  }
  return part;
}

const LeastCosts::Part& LeastCosts::link_part(const Link& link) {
  const auto [at, first] = link_parts_.try_emplace(shapes_.of(link));
  Part& part = at->second;
  if (!first) return part;
  const std::size_t home = home_branch(problem_, link);
  part.bound.assign(k_ * k_ * weights_.size(), 0.0);
  std::vector<double> stays = part.bound;
  bool any = false;
  for (std::size_t j = 0; j < link.branches.size(); ++j) {
    const bool may = leaves(link, j, home);
    const Part& own = branch_part(link.branches[j], may);
    for (std::size_t i = 0; i < stays.size(); ++i) {
      part.bound[i] += own.bound[i];
      stays[i] += own.of_stays()[i];
    }
    any |= may;
  }
  if (any) {
    part.stays = std::move(stays);
    share_seconds(link, home, part);
  }
  return part;
}

// Of concurrent branches the longest decides, so any mean of their seconds is a bound too: here
// weighted by their seconds on one rank. It includes the time of branches that leave.
void LeastCosts::share_seconds(const Link& link, std::size_t home, Part& out) {
  double whole = 0;
  for (const Branch& own : link.branches) whole += seconds_alone(problem_, own);
  if (!(whole > 0)) return;
  const std::vector<double> shared = for_all_weights([&](const Weight& weight) {
    Matrix sum(k_ * k_, 0.0);
    for (std::size_t j = 0; j < link.branches.size(); ++j) {
      const double share = seconds_alone(problem_, link.branches[j]) / whole;
      const Weight part{weight.seconds * share, weight.rank_seconds};
      const Matrix here = branch_matrix(part, link.branches[j], false);
      const Matrix away =
          leaves(link, j, home) ? branch_matrix(part, link.branches[j], true) : here;
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += std::min(here[i], away[i]);
    }
    return sum;
  });
  for (std::size_t i = 0; i < shared.size(); ++i) out.bound[i] = std::max(out.bound[i], shared[i]);
}

// From the front to every block of the trunk, and from the back.
void LeastCosts::add_paths() {
  const std::size_t n = weights_.size(), length = blocks_.size();
  behind_.assign(length, std::vector<double>(k_ * n, kNever));
  up_to_.assign(length, std::vector<double>(k_ * n, kNever));
  std::fill(behind_.back().begin(), behind_.back().end(), 0.0);
  std::fill(up_to_.front().begin(), up_to_.front().end(), 0.0);
  for (std::size_t c = 0; c < k_; ++c) add_block(0, c, &up_to_.front()[c * n]);
  std::vector<double> sums(n);
  for (std::size_t i = 0; i + 1 < length; ++i) {
    problem_.check_stop();
    for (std::size_t to = 0; to < k_; ++to) {
      double* own = &up_to_[i + 1][to * n];
      for (std::size_t from = 0; from < k_; ++from) {
        const double* between = link(i, from, to);
        for (std::size_t w = 0; w < n; ++w)
          own[w] = std::min(own[w], up_to_[i][from * n + w] + between[w]);
      }
      add_block(i + 1, to, own);
    }
  }
  for (std::size_t i = length - 1; i-- > 0;) {
    problem_.check_stop();
    for (std::size_t to = 0; to < k_; ++to) {
      std::copy_n(&behind_[i + 1][to * n], n, sums.begin());
      add_block(i + 1, to, sums.data());
      for (std::size_t from = 0; from < k_; ++from) {
        const double* between = link(i, from, to);
        double* own = &behind_[i][from * n];
        for (std::size_t w = 0; w < n; ++w) own[w] = std::min(own[w], sums[w] + between[w]);
      }
    }
  }
}

LeastCosts::LeastCosts(const Problem& problem, const Chain& chain, int k, int away_k,
                       std::vector<Weight> weights)
    : problem_(problem),
      k_(static_cast<std::size_t>(k)),
      away_k_(static_cast<std::size_t>(away_k)),
      weights_(std::move(weights)),
      blocks_(chain.blocks),
      moves_(problem, k_),
      shapes_(problem) {
  for (const Link& own : chain.links) {
    const std::size_t home = home_branch(problem_, own);
    branches_.emplace_back();
    for (std::size_t j = 0; j < own.branches.size(); ++j)
      branches_.back().push_back(&branch_part(own.branches[j], leaves(own, j, home)));
    links_.push_back(&link_part(own));
  }
  add_paths();
  add_plans(chain);
}

}  // namespace nereus::burst
