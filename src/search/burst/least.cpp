#include "search/burst/least.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/burst/branch_rules.hpp"

namespace nereus::burst {

namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kBetween = 24;  // weights between the two ends
}  // namespace

std::vector<Weight> usual_weights(int most_ranks) {
  // A plan's rank-seconds are between its seconds and most_ranks of them, and so are slopes of
  // fronts: from 1 to 1 / most_ranks and somewhat beyond.
  std::vector<Weight> out = {{1, 0}, {0, 1}};
  const double least = 0.05 / most_ranks, most = 4;
  for (int i = 0; i < kBetween; ++i)
    out.push_back({1, least * std::pow(most / least, static_cast<double>(i) / (kBetween - 1))});
  return out;
}

LeastCosts::Cost LeastCosts::cost(const Weight& weight, double seconds, double rank_seconds) const {
  return {weight.seconds * seconds + weight.rank_seconds * rank_seconds, seconds, rank_seconds};
}

LeastCosts::Cost LeastCosts::block_cost(const Weight& weight, int block,
                                        std::size_t candidate) const {
  const double seconds = problem_.blocks[static_cast<std::size_t>(block)].seconds[candidate];
  return cost(weight, seconds, seconds * problem_.counts[candidate]);
}

LeastCosts::Matrix LeastCosts::edge(const Weight& weight, double bytes, bool away) const {
  Matrix out(k_ * k_);
  for (std::size_t a = 0; a < k_; ++a)
    for (std::size_t b = 0; b < k_; ++b) {
      const int from = static_cast<int>(a), to = static_cast<int>(b);
      const double seconds = away ? move_seconds(problem_.away_of(from, to), bytes)
                                  : (a == b ? 0 : move_seconds(problem_.near_of(from, to), bytes));
      const int count = away ? problem_.counts[a] + problem_.counts[b]
                             : std::max(problem_.counts[a], problem_.counts[b]);
      out[a * k_ + b] = cost(weight, seconds, seconds * count);
    }
  return out;
}

// Weighed costs first, by themselves so that the compiler can take several at once; then what the
// best of them is made of.
LeastCosts::Matrix LeastCosts::product(const Matrix& a, const Matrix& b) const {
  std::vector<double> second(k_ * k_), best(k_);
  std::vector<double> by(k_);  // middle candidate; as a number of the same width
  for (std::size_t i = 0; i < second.size(); ++i) second[i] = b[i].weighed;
  Matrix out(k_ * k_, Cost{kNever, 0, 0});
  for (std::size_t i = 0; i < k_; ++i) {
    std::fill(best.begin(), best.end(), kNever);
    for (std::size_t j = 0; j < k_; ++j) {
      const double first = a[i * k_ + j].weighed;
      if (!(first < kNever)) continue;
      const double* row = &second[j * k_];
      const auto middle = static_cast<double>(j);
      for (std::size_t to = 0; to < k_; ++to) {
        const double sum = first + row[to];
        const bool less = sum < best[to];
        best[to] = less ? sum : best[to];
        by[to] = less ? middle : by[to];
      }
    }
    for (std::size_t to = 0; to < k_; ++to) {
      if (!(best[to] < kNever)) continue;
      const auto j = static_cast<std::size_t>(by[to]);
      const Cost& first = a[i * k_ + j];
      const Cost& then = b[j * k_ + to];
      out[i * k_ + to] = {best[to], first.seconds + then.seconds,
                          first.rank_seconds + then.rank_seconds};
    }
  }
  return out;
}

LeastCosts::Matrix LeastCosts::with_block(Matrix a, const Weight& weight, int block,
                                          std::size_t candidates) const {
  for (std::size_t i = 0; i < k_; ++i)
    for (std::size_t to = 0; to < k_; ++to) {
      Cost& own = a[i * k_ + to];
      const Cost more = block_cost(weight, block, to);
      own = {own.weighed + more.weighed, own.seconds + more.seconds,
             own.rank_seconds + more.rank_seconds};
      if (to >= candidates) own.weighed = kNever;
    }
  return a;
}

LeastCosts::Matrix LeastCosts::branch_matrix(const Weight& weight, const Branch& branch,
                                             bool away) const {
  if (branch.edge()) return edge(weight, branch.bytes, false);
  const std::size_t candidates = away ? away_k_ : k_;
  const auto end = [&](const Link& own) {
    return away ? edge(weight, own.bytes(), true) : link(weight, own);
  };
  Matrix out = with_block(end(branch.ends[0]), weight, branch.inner.blocks[0], candidates);
  for (std::size_t i = 0; i < branch.inner.links.size(); ++i)
    out = with_block(product(out, link(weight, branch.inner.links[i])), weight,
                     branch.inner.blocks[i + 1], candidates);
  return product(out, end(branch.ends[1]));
}

LeastCosts::Matrix LeastCosts::link(const Weight& weight, const Link& link) const {
  if (link.plain()) return edge(weight, link.bytes(), false);
  Matrix sum(k_ * k_, Cost{0, 0, 0});
  for (const Branch& branch : link.branches) {
    const Matrix own = branch_matrix(weight, branch, false);
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] = {sum[i].weighed + own[i].weighed, sum[i].seconds + own[i].seconds,
                sum[i].rank_seconds + own[i].rank_seconds};
  }
  return sum;
}

void LeastCosts::add_block(std::size_t block, std::size_t candidate, double* sums) const {
  for (std::size_t w = 0; w < weights_.size(); ++w)
    sums[w] += block_cost(weights_[w], blocks_[block], candidate).weighed;
}

// Bounds of every branch and link of the trunk, and plans that stay.
void LeastCosts::add_links(const Chain& chain) {
  const std::size_t n = weights_.size();
  std::vector<std::vector<Matrix>> stays(n);  // by weight and link
  for (const Link& own : chain.links) {
    const std::size_t home = home_branch(problem_, own);
    branches_.emplace_back(own.branches.size(), std::vector<double>(k_ * k_ * n));
    links_.emplace_back(k_ * k_ * n, 0.0);
    for (std::size_t w = 0; w < n; ++w) stays[w].emplace_back(k_ * k_, Cost{0, 0, 0});
    for (std::size_t j = 0; j < own.branches.size(); ++j) {
      const bool leaves = away_k_ > 0 && j != home && may_leave(problem_, own.branches[j]);
      const Matrix away = leaves ? branch_matrix({0, 1}, own.branches[j], true) : Matrix{};
      const Matrix held = leaves ? branch_matrix({0, 1}, own.branches[j], false) : Matrix{};
      for (std::size_t w = 0; w < n; ++w) {
        const Matrix here = branch_matrix(weights_[w], own.branches[j], false);
        for (std::size_t i = 0; i < here.size(); ++i) {
          double bound = here[i].weighed;
          if (leaves)
            bound = std::min(bound,
                             weights_[w].rank_seconds * std::min(away[i].weighed, held[i].weighed));
          branches_.back()[j][i * n + w] = bound;
          links_.back()[i * n + w] += bound;
          Cost& sum = stays[w].back()[i];
          sum = {sum.weighed + here[i].weighed, sum.seconds + here[i].seconds,
                 sum.rank_seconds + here[i].rank_seconds};
        }
      }
    }
    share_seconds(own, home);
  }
  add_plans(chain, stays);
}

// Of branches side by side the longest decides, so that any mean of their seconds is a bound too:
// here by their seconds on one rank. It sees what those that leave take in time.
void LeastCosts::share_seconds(const Link& link, std::size_t home) {
  const std::size_t n = weights_.size();
  std::vector<bool> leaves(link.branches.size());
  double whole = 0;
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    leaves[j] = away_k_ > 0 && j != home && may_leave(problem_, link.branches[j]);
    whole += seconds_alone(problem_, link.branches[j]);
  }
  if (std::count(leaves.begin(), leaves.end(), true) == 0 || !(whole > 0)) return;
  for (std::size_t w = 0; w < n; ++w) {
    std::vector<double> sum(k_ * k_, 0.0);
    for (std::size_t j = 0; j < leaves.size(); ++j) {
      const double share = seconds_alone(problem_, link.branches[j]) / whole;
      const Weight part{weights_[w].seconds * share, weights_[w].rank_seconds};
      const Matrix here = branch_matrix(part, link.branches[j], false);
      const Matrix away = leaves[j] ? branch_matrix(part, link.branches[j], true) : here;
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += std::min(here[i].weighed, away[i].weighed);
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
      double& own = links_.back()[i * n + w];
      own = std::max(own, sum[i]);
    }
  }
}

void LeastCosts::add_plans(const Chain& chain, const std::vector<std::vector<Matrix>>& links) {
  for (std::size_t w = 0; w < weights_.size(); ++w) {
    std::vector<Cost> best(k_);
    for (std::size_t k = 0; k < k_; ++k) best[k] = block_cost(weights_[w], chain.blocks[0], k);
    for (std::size_t i = 0; i < chain.links.size(); ++i) {
      std::vector<Cost> next(k_, Cost{kNever, 0, 0});
      for (std::size_t k = 0; k < k_; ++k)
        for (std::size_t to = 0; to < k_; ++to) {
          const Cost& between = links[w][i][k * k_ + to];
          const Cost block = block_cost(weights_[w], chain.blocks[i + 1], to);
          const Cost sum{best[k].weighed + between.weighed + block.weighed,
                         best[k].seconds + between.seconds + block.seconds,
                         best[k].rank_seconds + between.rank_seconds + block.rank_seconds};
          if (sum.weighed < next[to].weighed) next[to] = sum;
        }
      best = std::move(next);
    }
    const auto least = std::min_element(best.begin(), best.end(), [](const Cost& a, const Cost& b) {
      return a.weighed < b.weighed;
    });
    plans_.push_back({least->seconds, least->rank_seconds});
  }
}

LeastCosts::LeastCosts(const Problem& problem, const Chain& chain, int k, int away_k,
                       std::vector<Weight> weights)
    : problem_(problem),
      k_(static_cast<std::size_t>(k)),
      away_k_(static_cast<std::size_t>(away_k)),
      weights_(std::move(weights)),
      blocks_(chain.blocks) {
  const std::size_t n = weights_.size(), length = chain.blocks.size();
  add_links(chain);
  behind_.assign(length, std::vector<double>(k_ * n, kNever));
  up_to_.assign(length, std::vector<double>(k_ * n, kNever));
  std::fill(behind_.back().begin(), behind_.back().end(), 0.0);
  std::fill(up_to_.front().begin(), up_to_.front().end(), 0.0);
  for (std::size_t c = 0; c < k_; ++c) add_block(0, c, &up_to_.front()[c * n]);
  std::vector<double> sums(n);
  for (std::size_t i = 0; i + 1 < length; ++i)
    for (std::size_t to = 0; to < k_; ++to) {
      double* own = &up_to_[i + 1][to * n];
      for (std::size_t from = 0; from < k_; ++from)
        for (std::size_t w = 0; w < n; ++w)
          own[w] = std::min(own[w], up_to_[i][from * n + w] + links_[i][(from * k_ + to) * n + w]);
      add_block(i + 1, to, own);
    }
  for (std::size_t i = length - 1; i-- > 0;)
    for (std::size_t to = 0; to < k_; ++to) {
      std::copy_n(&behind_[i + 1][to * n], n, sums.begin());
      add_block(i + 1, to, sums.data());
      for (std::size_t from = 0; from < k_; ++from)
        for (std::size_t w = 0; w < n; ++w) {
          double& own = behind_[i][from * n + w];
          own = std::min(own, sums[w] + links_[i][(from * k_ + to) * n + w]);
        }
    }
}

}  // namespace nereus::burst
