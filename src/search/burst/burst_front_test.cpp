#include "search/burst/burst_front.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "search/burst/branch_shapes.hpp"
#include "search/burst/burst_testing.hpp"
#include "search/burst/series_parallel.hpp"

namespace nereus::burst::burst_front_test {
namespace {

struct Cost {
  double seconds = 0, rank_seconds = 0, memory = 0;
};

// Prices one choice of candidates, and of branches that leave (by the first block of each).
class Judge {
 public:
  Judge(const Problem& problem, const std::vector<int>& candidates,
        const std::map<int, bool>& leaves)
      : p_(problem), c_(candidates), leaves_(leaves) {}

  bool price(const Tree::Part& trunk, Cost& cost) {
    for (const int b : all_of(trunk, false))
      if (count(b) > p_.trunk_ranks) return false;
    cost = part(trunk, true);
    return ok_ && !(cost.memory > p_.memory_limit);
  }

  static double on_one(const Problem& p, const Tree::Part& part) {
    double sum = 0;
    for (const int b : part.blocks) sum += p.blocks[b].seconds[0];
    for (const Tree::Between& between : part.between)
      for (const Tree::Part& branch : between.branches) sum += on_one(p, branch);
    return sum;
  }

 private:
  int k(int block) const { return c_[block]; }
  int count(int block) const { return p_.counts[k(block)]; }
  std::vector<int> all_of(const Tree::Part& part, bool trunk) const {
    std::vector<int> out = part.blocks;
    for (const Tree::Between& between : part.between)
      for (const Tree::Part& branch : between.branches) {
        if (trunk && leaves_.at(branch.blocks[0])) continue;
        for (const int b : all_of(branch, trunk)) out.push_back(b);
      }
    return out;
  }
  Cost move(int a, int b, double bytes, bool away) const {
    const MoveCost& m = away ? p_.away_of(k(a), k(b)) : p_.near_of(k(a), k(b));
    const double seconds = m.fixed + m.per_byte * bytes;
    if (!away && k(a) == k(b)) return {};
    return {seconds, seconds * (away ? count(a) + count(b) : std::max(count(a), count(b))), 0};
  }
  Cost part(const Tree::Part& own, bool trunk) {
    Cost sum;
    const auto add = [&](const Cost& c) {
      sum.seconds += c.seconds;
      sum.rank_seconds += c.rank_seconds;
      sum.memory += c.memory;
    };
    for (std::size_t i = 0; i < own.blocks.size(); ++i) {
      const Block& b = p_.blocks[own.blocks[i]];
      const auto at = static_cast<std::size_t>(k(own.blocks[i]));
      add({b.seconds[at], b.seconds[at] * count(own.blocks[i]), b.memory[at]});
      if (i + 1 < own.blocks.size())
        add(between(own.between[i], own.blocks[i], own.blocks[i + 1], trunk));
    }
    return sum;
  }
  Cost between(const Tree::Between& own, int fork, int join, bool trunk) {
    Cost here;
    double longest = 0;
    int widest = 0, leaving = 0;
    if (own.edge >= 0) here = move(fork, join, own.edge, false);
    for (const Tree::Part& branch : own.branches) {
      const bool away = trunk && leaves_.at(branch.blocks[0]);
      const Cost in = move(fork, branch.blocks.front(), branch.in, away);
      const Cost out = move(branch.blocks.back(), join, branch.out, away);
      const Cost body = part(branch, false);
      const double seconds = in.seconds + body.seconds + out.seconds;
      here.rank_seconds += in.rank_seconds + body.rank_seconds + out.rank_seconds;
      if (away) {
        longest = std::max(longest, seconds);
        ++leaving;
        for (const int b : all_of(branch, false)) widest = std::max(widest, count(b));
      } else {
        here.seconds += seconds;
        here.memory += body.memory;
      }
    }
    if (widest * leaving > p_.num_ranks - p_.trunk_ranks) ok_ = false;
    here.seconds = std::max(here.seconds, longest);
    return here;
  }

  const Problem& p_;
  const std::vector<int>& c_;
  const std::map<int, bool>& leaves_;
  bool ok_ = true;
};

// Branches that may leave: on the trunk, all but the one of the most seconds on one rank, each
// within memory whatever its counts.
std::vector<int> may_leave(const Problem& p, const Tree& tree) {
  std::vector<int> out;
  const auto worst = [&](const Tree::Part& part, const auto& self) -> double {
    double sum = 0;
    for (const int b : part.blocks) {
      const std::vector<double>& m = p.blocks[b].memory;
      sum += *std::max_element(m.begin(), m.end());
    }
    for (const Tree::Between& between : part.between)
      for (const Tree::Part& branch : between.branches) sum += self(branch, self);
    return sum;
  };
  for (const Tree::Between& between : tree.trunk.between) {
    // As the search lists them: the edge first, then by their first block.
    std::vector<const Tree::Part*> branches;
    for (const Tree::Part& branch : between.branches) branches.push_back(&branch);
    const Tree::Part* home = nullptr;
    for (const Tree::Part* branch : branches)
      if (!home || Judge::on_one(p, *branch) > Judge::on_one(p, *home)) home = branch;
    for (const Tree::Part* branch : branches)
      if (branch != home && worst(*branch, worst) <= p.memory_limit)
        out.push_back(branch->blocks[0]);
  }
  return out;
}

void all_branches(const Tree::Part& part, std::map<int, bool>& out) {
  for (const Tree::Between& between : part.between)
    for (const Tree::Part& branch : between.branches) {
      out[branch.blocks[0]] = false;
      all_branches(branch, out);
    }
}

std::vector<Cost> brute_force(const RandomGraph& graph) {
  const Problem& p = graph.problem;
  std::map<int, bool> leaves;
  all_branches(graph.tree.trunk, leaves);
  const std::vector<int> movable = may_leave(p, graph.tree);
  std::vector<Cost> all;
  for (std::size_t flags = 0; flags < (std::size_t{1} << movable.size()); ++flags) {
    for (std::size_t i = 0; i < movable.size(); ++i) leaves[movable[i]] = (flags >> i) & 1;
    std::vector<int> candidates(p.blocks.size(), 0);
    for (;;) {
      Cost cost;
      if (Judge(p, candidates, leaves).price(graph.tree.trunk, cost)) all.push_back(cost);
      std::size_t i = 0;
      while (i < candidates.size() && ++candidates[i] == p.num_candidates()) candidates[i++] = 0;
      if (i == candidates.size()) break;
    }
  }
  std::sort(all.begin(), all.end(), [](const Cost& a, const Cost& b) {
    return std::tie(a.seconds, a.rank_seconds) < std::tie(b.seconds, b.rank_seconds);
  });
  std::vector<Cost> front;
  for (const Cost& own : all)
    if (front.empty() || own.rank_seconds < front.back().rank_seconds - 1e-9) front.push_back(own);
  return front;
}

void expect_same(const RandomGraph& graph, std::uint64_t seed) {
  const Front front = solve(graph.problem);
  const std::vector<Cost> truth = brute_force(graph);
  std::vector<BurstPlan> plans;  // sums in another order may split a plan in two
  for (const BurstPlan& own : front.plans)
    if (plans.empty() || own.rank_seconds < plans.back().rank_seconds - 1e-9) plans.push_back(own);
  ASSERT_EQ(plans.size(), truth.size()) << "seed " << seed;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    EXPECT_NEAR(plans[i].seconds, truth[i].seconds, 1e-9) << "seed " << seed;
    EXPECT_NEAR(plans[i].rank_seconds, truth[i].rank_seconds, 1e-9) << "seed " << seed;
  }
  // What a plan says it costs is what its places cost.
  std::map<int, bool> leaves;
  all_branches(graph.tree.trunk, leaves);
  for (const BurstPlan& own : front.plans) {
    std::vector<int> candidates;
    for (const BlockPlace& place : own.blocks) candidates.push_back(place.candidate);
    for (auto& [block, away] : leaves) away = own.blocks[block].first_rank > 0;
    // Nested branches go where their own branch is.
    for (const Tree::Between& between : graph.tree.trunk.between)
      for (const Tree::Part& branch : between.branches) {
        std::map<int, bool> nested;
        all_branches(branch, nested);
        for (const auto& [block, away] : nested) leaves[block] = false;
      }
    Cost cost;
    ASSERT_TRUE(Judge(graph.problem, candidates, leaves).price(graph.tree.trunk, cost));
    EXPECT_NEAR(cost.seconds, own.seconds, 1e-9);
    EXPECT_NEAR(cost.rank_seconds, own.rank_seconds, 1e-9);
  }
}

TEST(BurstFront, ChainsEqualBruteForce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) expect_same(RandomGraph(seed, 6, false), seed);
}

TEST(BurstFront, BranchesEqualBruteForce) {
  int with_branches = 0, left = 0, limited = 0;
  for (std::uint64_t seed = 1000; seed < 1300; ++seed) {
    const RandomGraph graph(seed, 6, true);
    expect_same(graph, seed);
    bool has = false;
    for (const Tree::Between& between : graph.tree.trunk.between) has |= !between.branches.empty();
    with_branches += has ? 1 : 0;
    limited += std::isfinite(graph.problem.memory_limit) ? 1 : 0;
    for (const BurstPlan& plan : solve(graph.problem).plans)
      left += std::any_of(plan.blocks.begin(), plan.blocks.end(),
                          [](const BlockPlace& b) { return b.first_rank > 0; });
  }
  EXPECT_GT(with_branches, 150);
  EXPECT_GT(left, 50);
  EXPECT_GT(limited, 50);
}

// Equal parts are worked out once: plans must still name every block's own place.
TEST(BurstFront, EqualBranchesEqualBruteForce) {
  int equal = 0;
  for (std::uint64_t seed = 3000; seed < 3200; ++seed) {
    const RandomGraph graph(seed, 7, true, true);
    expect_same(graph, seed);
    const Reduced reduced = reduce(graph.problem);
    Shapes shapes(reduced.problem);
    std::map<int, int> seen;
    for (const Link& link : reduced.chain.links)
      for (const Branch& own : link.branches)
        if (!own.edge()) equal += ++seen[shapes.of(own)] > 1;
  }
  EXPECT_GT(equal, 30);
}

// So many candidates that plans of few of them come first.
TEST(BurstFront, ManyCandidatesEqualBruteForce) {
  int many = 0, limited = 0, with_branches = 0;
  for (std::uint64_t seed = 4000; seed < 4100; ++seed) {
    const bool branches = seed % 4 == 0 && with_branches < 6;
    const RandomGraph graph(seed, branches ? 4 : 3, branches, false, 21);
    const bool forks = graph.problem.edges.size() >= graph.problem.blocks.size();
    // More would be too many plans to look at one by one.
    if (graph.problem.blocks.size() > 4 || graph.problem.counts.size() < 20 || branches != forks)
      continue;
    expect_same(graph, seed);
    ++many;
    with_branches += forks;
    limited += std::isfinite(graph.problem.memory_limit) ? 1 : 0;
  }
  EXPECT_GT(many, 20);
  EXPECT_GT(with_branches, 4);
  EXPECT_GT(limited, 5);
}

// If there are too many labels and memory is limited: plans fit, and for every plan of the exact
// front there is one that is as fast and whose rank-seconds are within the gap.
TEST(BurstFront, WithinMemoryIsWithinItsGap) {
  int limited = 0, with_gap = 0, exact = 0;
  for (std::uint64_t seed = 2000; seed < 2400; ++seed) {
    const RandomGraph graph(seed, 6, seed % 2 == 0);
    if (!std::isfinite(graph.problem.memory_limit)) continue;
    const Front truth = solve(graph.problem), near = solve(graph.problem, -1);
    if (truth.plans.empty() || near.plans.empty()) continue;
    ++limited;
    with_gap += near.gap > 0;
    exact += near.gap == 0;
    for (const BurstPlan& own : near.plans)
      EXPECT_TRUE(std::any_of(truth.plans.begin(), truth.plans.end(),
                              [&](const BurstPlan& best) {
                                return best.seconds <= own.seconds + 1e-9 &&
                                       best.rank_seconds <= own.rank_seconds + 1e-9;
                              }))
          << "seed " << seed << ": before the exact front";
    for (const BurstPlan& best : truth.plans) {
      if (best.seconds < near.plans.front().seconds - 1e-9) continue;  // none is as fast
      EXPECT_TRUE(std::any_of(near.plans.begin(), near.plans.end(),
                              [&](const BurstPlan& own) {
                                return own.seconds <= best.seconds + 1e-9 &&
                                       own.rank_seconds <=
                                           best.rank_seconds * (1 + near.gap) + 1e-9;
                              }))
          << "seed " << seed << ", gap " << near.gap;
    }
  }
  EXPECT_GT(limited, 50);
  EXPECT_GT(with_gap, 10);
  EXPECT_GT(exact, 0);
}

TEST(BurstFront, CanonicalCountsStandForAll) {
  for (const int batch : {1, 2, 7, 32, 60, 64}) {
    const std::vector<int> counts = candidate_counts(batch, batch);
    for (int g = 1; g <= batch; ++g) {
      const int own = canonical_count(batch, g);
      EXPECT_TRUE(std::binary_search(counts.begin(), counts.end(), own));
      EXPECT_LE(own, g);
      EXPECT_EQ(samples_per_rank(batch, own), samples_per_rank(batch, g));
    }
    EXPECT_LE(counts.size(), 2 * std::sqrt(batch) + 1);
  }
}

}  // namespace
}  // namespace nereus::burst::burst_front_test
