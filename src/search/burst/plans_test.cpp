// What is made of a front: picks, the rule it is compared with, placements.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/error.hpp"
#include "base/random.hpp"
#include "search/burst/burst_costs.hpp"
#include "search/burst/burst_front.hpp"
#include "search/burst/burst_placement.hpp"
#include "search/burst/burst_testing.hpp"
#include "search/burst/deeppool_rule.hpp"
#include "search/burst/pick.hpp"
#include "search/burst/series_parallel.hpp"

namespace nereus::burst::plans_test {
namespace {

TEST(BurstPlans, RuleIsNeverBeforeTheFront) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Problem p = make_problem(some_blocks(seed, 10), chain_of(10),
                                   deeppool_prices(266e9, 40e-6), 32, powers_of_two(32, 16));
    const Front front = solve(p);
    for (const double limit : {1.5, 2.0, 5.0, 1e99}) {
      const BurstPlan rule = evaluate(p, deeppool_rule(p, limit));
      bool reached = false;
      for (const BurstPlan& own : front.plans) {
        reached |= own.seconds <= rule.seconds * (1 + 1e-9) &&
                   own.rank_seconds <= rule.rank_seconds * (1 + 1e-9);
      }
      EXPECT_TRUE(reached) << seed << " " << limit;
    }
  }
}

TEST(BurstPlans, PicksKeepTheirPromise) {
  const Problem p = make_problem(some_blocks(7, 8), chain_of(8), deeppool_prices(266e9, 40e-6), 64,
                                 candidate_counts(64, 16));
  const Front front = solve(p);
  const double one = evaluate(p, std::vector<int>(8, 0)).seconds;
  for (const double limit : {1.0, 1.3, 2.0, 10.0}) {
    const auto at = pick_amplification(front, one, limit);
    ASSERT_TRUE(at);
    EXPECT_LE(front.plans[*at].rank_seconds, limit * one * (1 + 1e-9));
    if (*at > 0) {
      EXPECT_GT(front.plans[*at - 1].rank_seconds, limit * one);
    }
  }
  EXPECT_FALSE(pick_amplification(front, one, 0.5));
  const Workload work{one, 16, 1};
  const BurstPlan alone = evaluate(p, std::vector<int>(8, p.num_candidates() - 1));
  const auto most = pick_throughput(front, work, alone.seconds);
  ASSERT_TRUE(most);
  const BurstPlan& picked = front.plans[*most];
  EXPECT_LE(picked.seconds, alone.seconds * (1 + 1e-9));
  EXPECT_GE(cluster_throughput(work, picked.seconds, picked.rank_seconds, true),
            cluster_throughput(work, alone.seconds, alone.rank_seconds, true) * (1 - 1e-9));
  // No more work than ranks.
  for (const BurstPlan& own : front.plans)
    EXPECT_LE(cluster_throughput(work, own.seconds, own.rank_seconds, true), 16 * (1 + 1e-9));
}

TEST(BurstPlans, PlacementsHoldEverySampleOnce) {
  Random random(3);
  for (int turn = 0; turn < 200; ++turn) {
    const int batch = 1 + static_cast<int>(random.below(70));
    const std::vector<int> counts = candidate_counts(batch, 1 + static_cast<int>(random.below(64)));
    BurstPlan plan;
    for (int i = 0; i < 5; ++i)
      plan.blocks.push_back({static_cast<int>(random.below(counts.size())), 0});
    const plan::Placement placement = placement_of(plan, counts, batch, cluster::Precision::kBf16);
    for (const plan::LayerRun& run : placement.runs) {
      std::vector<int> seen(static_cast<std::size_t>(batch), 0), ranks(256, 0);
      for (const plan::Replicas& own : run.replicas)
        for (int team = 0; team < own.count; ++team) {
          ++ranks.at(static_cast<std::size_t>(own.first + team * own.team_stride));
          for (int s = 0; s < own.micro_batch; ++s)
            ++seen.at(static_cast<std::size_t>(own.first_sample + team * own.team_step() + s));
        }
      for (const int n : seen) EXPECT_EQ(n, 1);
      for (const int n : ranks) EXPECT_LE(n, 1);
    }
  }
}

TEST(BurstPlans, SamplesStayWhereTheyDivide) {
  EXPECT_EQ(moved_samples(4, 4), 0);
  EXPECT_EQ(moved_samples(4, 32), 28);
  EXPECT_EQ(moved_samples(32, 4), 28);
  EXPECT_EQ(moved_samples(4, 8), 4);
  EXPECT_EQ(moved_samples(4, 6), 6);  // a rank may have none of its samples
}

TEST(BurstPlans, GraphsThatAreNotSeriesParallelAreCollapsed) {
  // 0 -> {1, 2}, 1 -> {3, 4}, 2 -> 4, {3, 4} -> 5: no block between that all paths pass.
  const std::vector<Edge> edges = {{0, 1, 8}, {0, 2, 8}, {1, 3, 8}, {1, 4, 8},
                                   {2, 4, 8}, {3, 5, 8}, {4, 5, 8}};
  Problem p = make_problem(some_blocks(5, 6), edges, deeppool_prices(266e9, 40e-6), 8,
                           candidate_counts(8, 8));
  p.trunk_ranks = 8;
  const Reduced reduced = reduce(p);
  ASSERT_EQ(reduced.notes.size(), 1U);
  EXPECT_NE(reduced.notes[0].find("4 blocks from b1 to b4 are not series-parallel"),
            std::string::npos);
  const Front front = solve(p);
  ASSERT_FALSE(front.plans.empty());
  for (const BurstPlan& own : front.plans)
    for (int i = 2; i <= 4; ++i) EXPECT_EQ(own.blocks[i], own.blocks[1]);
  EXPECT_THROW(reduce(Problem{}), Errors);
}

// Every choice of branches that leave would be 2^69 of them.
TEST(BurstPlans, OfManyBranchesTheLongestMayLeave) {
  constexpr int kBranches = 70;
  std::vector<Edge> edges;
  for (int i = 1; i <= kBranches; ++i) {
    edges.push_back({0, i, 8});
    edges.push_back({i, kBranches + 1, 8});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  });
  Problem p = make_problem(some_blocks(5, kBranches + 2), edges, deeppool_prices(266e9, 40e-6), 8,
                           powers_of_two(8, 8));
  p.num_ranks = p.trunk_ranks = 8;
  const Front together = solve(p);
  EXPECT_TRUE(together.notes.empty());
  p.trunk_ranks = 4;
  const Front apart = solve(p);
  ASSERT_EQ(apart.notes.size(), 1U);
  EXPECT_NE(apart.notes[0].find("61 other branches run"), std::string::npos) << apart.notes[0];
  ASSERT_FALSE(together.plans.empty() || apart.plans.empty());
}

TEST(BurstPlans, TimesOfZeroAreRefused) {
  std::vector<BlockCosts> blocks = some_blocks(5, 3);
  blocks[1].seconds = [](int) { return 0.0; };
  blocks[1].gradient_bytes = 0;
  const Problem p = make_problem(blocks, chain_of(3), deeppool_prices(266e9, 40e-6), 8, {1, 2});
  try {
    solve(p);
    FAIL();
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list().front().code, "burst.no-time");
  }
}

}  // namespace
}  // namespace nereus::burst::plans_test
