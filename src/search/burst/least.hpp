// Least weighed costs of the parts of a burst plan, by scalar shortest paths: what bounds are made
// of (search/burst/bounds.hpp), and whole plans to start from. Inside search/burst only.
//
// For each weight (u, v) the cost of a part is u seconds + v rank-seconds. Branches of a link add
// up; one that may leave the trunk takes at least v x its least rank-seconds, for its seconds may
// be hidden. Memory is left out. All are lower bounds; without branches that leave they are
// reached.
#pragma once

#include <vector>

#include "search/burst/series_parallel.hpp"

namespace nereus::burst {

struct Weight {
  double seconds = 1;
  double rank_seconds = 0;
};

struct KnownPlan {
  double seconds = 0;
  double rank_seconds = 0;
};

// Seconds alone, rank-seconds alone, then both from one end to the other.
std::vector<Weight> usual_weights(int most_ranks);

class LeastCosts {
 public:
  // Of the first k candidates; branches that leave take of the first away_k.
  LeastCosts(const Problem& problem, const Chain& chain, int k, int away_k,
             std::vector<Weight> weights);

  const std::vector<Weight>& weights() const { return weights_; }
  std::size_t num_weights() const { return weights_.size(); }
  // One number for each weight: of all behind a block of the trunk; of all up to it and itself; of
  // a branch of the link behind it; of the block alone.
  const double* behind(std::size_t block, std::size_t candidate) const {
    return &behind_[block][candidate * weights_.size()];
  }
  const double* up_to(std::size_t block, std::size_t candidate) const {
    return &up_to_[block][candidate * weights_.size()];
  }
  const double* branch(std::size_t block, std::size_t branch, std::size_t from,
                       std::size_t to) const {
    return &branches_[block][branch][(from * k_ + to) * weights_.size()];
  }
  void add_block(std::size_t block, std::size_t candidate, double* sums) const;

  // Plans of the least weighed costs where all branches stay.
  const std::vector<KnownPlan>& plans() const { return plans_; }

 private:
  struct Cost {
    double weighed, seconds, rank_seconds;
  };
  using Matrix = std::vector<Cost>;  // by candidates before and behind

  Cost cost(const Weight& weight, double seconds, double rank_seconds) const;
  Cost block_cost(const Weight& weight, int block, std::size_t candidate) const;
  Matrix edge(const Weight& weight, double bytes, bool away) const;
  Matrix product(const Matrix& a, const Matrix& b) const;
  Matrix with_block(Matrix a, const Weight& weight, int block, std::size_t candidates) const;
  Matrix link(const Weight& weight, const Link& link) const;
  Matrix branch_matrix(const Weight& weight, const Branch& branch, bool away) const;
  void add_links(const Chain& chain);
  void share_seconds(const Link& link, std::size_t home);
  void add_plans(const Chain& chain, const std::vector<std::vector<Matrix>>& links);

  const Problem& problem_;
  std::size_t k_, away_k_;
  std::vector<Weight> weights_;
  std::vector<int> blocks_;
  std::vector<std::vector<double>> behind_, up_to_;
  std::vector<std::vector<std::vector<double>>> branches_;
  std::vector<std::vector<double>> links_;  // by link: K x K x weights, the sum over its branches
  std::vector<KnownPlan> plans_;
};

}  // namespace nereus::burst
