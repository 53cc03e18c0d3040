// Least weighted costs of the parts of a burst plan, from scalar shortest paths. The search uses
// them for bounds (search/burst/burst_bounds.hpp) and for its first plans. Only for use inside
// search/burst.
//
// For each weight (u, v), the cost of a part is u seconds + v rank-seconds. The costs of a link's
// branches add up; a branch that may leave the trunk costs at least v x its least rank-seconds,
// because its seconds may overlap. Memory is ignored. All costs are lower bounds; they are exact if
// no branch leaves. Equal branches and links (search/burst/branch_shapes.hpp) are computed once.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "search/burst/branch_shapes.hpp"
#include "search/burst/burst_moves.hpp"
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

// Seconds only, rank-seconds only, then mixtures from one extreme to the other.
std::vector<Weight> usual_weights(int most_ranks);

class LeastCosts {
 public:
  // Uses the first k candidates; branches that leave use the first away_k.
  LeastCosts(const Problem& problem, const Chain& chain, int k, int away_k,
             std::vector<Weight> weights);

  const std::vector<Weight>& weights() const { return weights_; }
  std::size_t num_weights() const { return weights_.size(); }
  // Each function returns one cost per weight: behind(), of everything after a block of the trunk;
  // up_to(), of everything up to and including the block; link(), of the link after the block;
  // branch(), of a branch of that link; branch_that_stays(), of such a branch if it stays on the
  // trunk; add_block() adds the cost of the block only.
  const double* behind(std::size_t block, std::size_t candidate) const {
    return &behind_[block][candidate * weights_.size()];
  }
  const double* up_to(std::size_t block, std::size_t candidate) const {
    return &up_to_[block][candidate * weights_.size()];
  }
  const double* link(std::size_t block, std::size_t from, std::size_t to) const {
    return &links_[block]->bound[(from * k_ + to) * weights_.size()];
  }
  const double* branch(std::size_t block, std::size_t branch, std::size_t from,
                       std::size_t to) const {
    return &branches_[block][branch]->bound[(from * k_ + to) * weights_.size()];
  }
  const double* branch_that_stays(std::size_t block, std::size_t branch, std::size_t from,
                                  std::size_t to) const {
    return &branches_[block][branch]->of_stays()[(from * k_ + to) * weights_.size()];
  }
  void add_block(std::size_t block, std::size_t candidate, double* sums) const;

  // The plans with the least weighted costs if all branches stay.
  const std::vector<KnownPlan>& plans() const { return plans_; }
  // Candidates that these plans use on the trunk, in order.
  const std::set<std::size_t>& used() const { return used_; }

 private:
  using Matrix = std::vector<double>;  // by candidates before and after
  struct Part {                        // by candidates before and after, and by weight
    std::vector<double> bound;
    std::vector<double> stays;  // cost if all branches stay; empty: equal to `bound`
    const std::vector<double>& of_stays() const { return stays.empty() ? bound : stays; }
  };

  double block_cost(const Weight& weight, int block, std::size_t candidate) const;
  Matrix edge(const Weight& weight, double bytes, bool away);
  void add_block(Matrix& to, const Weight& weight, int block, std::size_t candidates) const;
  Matrix link_matrix(const Weight& weight, const Link& link);
  Matrix branch_matrix(const Weight& weight, const Branch& branch, bool away);
  bool leaves(const Link& link, std::size_t branch, std::size_t home) const;
  const Part& branch_part(const Branch& branch, bool leaves);
  const Part& link_part(const Link& link);
  std::vector<double> for_all_weights(const std::function<Matrix(const Weight&)>& of) const;
  void share_seconds(const Link& link, std::size_t home, Part& out);
  void add_paths();
  void add_plans(const Chain& chain);
  // The cheapest way through a part for one weight, if all branches stay.
  KnownPlan cheapest(const Weight& weight, const Link& link, std::size_t from, std::size_t to);
  KnownPlan cheapest(const Weight& weight, const Branch& branch, std::size_t from, std::size_t to);
  KnownPlan cost_of(int block, std::size_t candidate) const;

  const Problem& problem_;
  std::size_t k_, away_k_;
  std::vector<Weight> weights_;
  std::vector<int> blocks_;
  Moves moves_;
  Shapes shapes_;
  std::map<std::pair<int, bool>, Part> branch_parts_;  // by shape, and whether it may leave
  std::map<int, Part> link_parts_;                     // by shape
  std::vector<std::vector<double>> behind_, up_to_;
  std::vector<std::vector<const Part*>> branches_;  // by link of the trunk
  std::vector<const Part*> links_;
  std::vector<KnownPlan> plans_;
  std::set<std::size_t> used_;
};

}  // namespace nereus::burst
