#include "plan/expand.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <climits>
#include <cmath>
#include <map>
#include <set>

#include "plan/check.hpp"
#include "plan/stages.hpp"
#include "plan/test_plans.hpp"

namespace nereus::plan::expand_test {
namespace {

using testing::any_valid_plan;
using testing::make_dense;
using testing::make_experts;

TEST(Expand, SmallPlanByHand) {
  const Degrees d{.tp = 2, .pp = 2, .dp = 3, .micro_batch = 4, .global_batch = 24, .zero = 1};
  const Placement p = expand(d, make_dense(4));
  ASSERT_EQ(p.runs.size(), 2u);
  const LayerRun& run = p.runs[1];
  EXPECT_EQ(run.first_layer, 3);
  EXPECT_EQ(run.num_layers, 3);
  EXPECT_EQ(run.stage, 1);
  ASSERT_EQ(run.replicas.size(), 1u);
  EXPECT_EQ(run.replicas[0], (Replicas{.count = 3,
                                       .first = 6,
                                       .team_stride = 2,
                                       .tp = 2,
                                       .cp = 1,
                                       .tensor_stride = 1,
                                       .context_stride = 2,
                                       .micro_batch = 4,
                                       .num_micro_batches = 2,
                                       .team_sample_stride = 4,
                                       .micro_batch_stride = 12}));
  ASSERT_EQ(run.state.size(), 3u);
  const StateShare& weights = run.state[0];
  EXPECT_EQ(weights.pieces, 1);
  EXPECT_EQ(weights.cut, 2);
  EXPECT_EQ(weights.num_slices, 2);
  EXPECT_EQ(weights.ranks, (RankSet{{6, 3, 2}}));
  EXPECT_EQ(run.state[1].pieces, 1);
  EXPECT_EQ(run.state[2].kind, StateKind::kOptimizer);
  EXPECT_EQ(run.state[2].pieces, 3);
}

TEST(Expand, ExpertsHaveTheirOwnDataGroup) {
  // 8 ranks of a stage: 2 expert groups x 2 tensor parts, so 2 copies of the experts; the dense
  // weights are cut in 4 and have 2 copies.
  const Degrees d{.tp = 4, .dp = 2, .ep = 2, .expert_tp = 2, .global_batch = 2, .zero = 3};
  const Placement p = expand(d, make_experts(2, 0));
  ASSERT_EQ(p.runs.size(), 1u);
  const LayerRun& run = p.runs[0];
  ASSERT_EQ(run.state.size(), 6u);
  EXPECT_EQ(run.ep, 2);
  EXPECT_EQ(run.state[0].ranks, (RankSet{{0, 2, 4}}));
  const StateShare& experts = run.state[3];
  EXPECT_TRUE(experts.experts);
  EXPECT_EQ(experts.cut, 4);
  EXPECT_EQ(experts.ranks, (RankSet{{0, 2, 4}}));
  EXPECT_EQ(experts.pieces, 2);
}

TEST(Expand, HybridShardingDividesWithinNeighbours) {
  const Degrees d{.dp = 8, .global_batch = 8, .zero = 3, .zero_group = 4};
  const Placement p = expand(d, make_dense(2));
  EXPECT_EQ(p.runs[0].state[0].pieces, 4);
  EXPECT_EQ(p.runs[0].state[0].ranks, (RankSet{{0, 8, 1}}));
  EXPECT_EQ(as_regular(p, make_dense(2)), d);
}

TEST(Expand, OffloadedSharesComeFirst) {
  const Degrees d{.offload = {.weights = 0.25, .optimizer = 1}};
  const Placement p = expand(d, make_dense(2));
  ASSERT_EQ(p.runs[0].state.size(), 4u);
  EXPECT_EQ(p.runs[0].state[0].tier, Tier::kHost);
  EXPECT_EQ(p.runs[0].state[0].end, kStateUnits / 4);
  EXPECT_EQ(p.runs[0].state[1].begin, kStateUnits / 4);
  EXPECT_EQ(p.runs[0].state[3].tier, Tier::kHost);
  EXPECT_EQ(p.runs[0].state[3].end, kStateUnits);
}

TEST(Expand, OffloadCarriesItsTier) {
  const Degrees d{.offload = {.optimizer = 0.5, .activations = 0.25, .tier = Tier::kExpanded}};
  const Placement p = expand(d, make_dense(2));
  EXPECT_EQ(p.runs[0].state[2].kind, StateKind::kOptimizer);
  EXPECT_EQ(p.runs[0].state[2].tier, Tier::kExpanded);
  EXPECT_EQ(p.runs[0].replicas[0].offload_tier, Tier::kExpanded);
  EXPECT_EQ(as_regular(p, make_dense(2)), d);
  // Activations elsewhere than the optimizer: no degrees say that.
  Placement mixed = p;
  mixed.runs[0].replicas[0].offload_tier = Tier::kHost;
  EXPECT_FALSE(as_regular(mixed, make_dense(2)).has_value());
  // Of nothing there is no tier.
  EXPECT_EQ(canonical({.offload = {.tier = Tier::kNvme}}, make_dense(2)), Degrees{});
}

TEST(Expand, DualPipeKeepsEveryStageOnBothEnds) {
  const Degrees d{.pp = 4, .global_batch = 8, .schedule = Schedule::kDualPipe};
  const Placement p = expand(d, make_dense(4));
  const LayerRun& first = p.runs[0];
  ASSERT_EQ(first.replicas.size(), 2u);
  EXPECT_EQ(first.replicas[0].first, 0);
  EXPECT_EQ(first.replicas[1].first, 3);
  EXPECT_EQ(first.replicas[1].first_sample, 4);
  EXPECT_EQ(first.replicas[1].num_micro_batches, 4);
  EXPECT_EQ(first.state[0].ranks, (RankSet{{0, 1, 1}, {3, 1, 1}}));
}

RC_GTEST_PROP(Expand, EveryBuildablePlanIsSoundAndRecognised, ()) {
  const auto plan = any_valid_plan();
  const Placement placement = expand(plan.degrees, plan.model);
  const auto errors = check(placement, plan.model, plan.cluster);
  RC_LOG() << (errors.empty() ? "" : errors[0].message) << '\n';
  RC_ASSERT(errors.empty());
  const Degrees want = canonical(plan.degrees, plan.model);
  RC_ASSERT(as_regular(placement, plan.model) == want);
  RC_ASSERT(as_regular_with_own_stages(placement, plan.model) == want);
  RC_ASSERT(expand(want, plan.model) == placement);  // canonical changes nothing
  RC_ASSERT(canonical(want, plan.model) == want);
}

// What each rank does, counted from the placement, against the degrees' own arithmetic.
RC_GTEST_PROP(Expand, RanksHoldAndComputeWhatTheDegreesSay, ()) {
  const auto plan = any_valid_plan();
  const Degrees& d = plan.degrees;
  const Placement placement = expand(d, plan.model);
  const int streams = d.schedule == Schedule::kDualPipe && d.pp > 1 ? 2 : 1;
  std::map<int, int> stages_of_rank;
  std::map<int, double> weights_of_rank;  // in slices of a run, dense
  for (const LayerRun& run : placement.runs) {
    for (const Replicas& r : run.replicas)
      for (int i = 0; i < r.count; ++i)
        for (int c = 0; c < r.cp; ++c)
          for (int t = 0; t < r.tp; ++t)
            ++stages_of_rank[r.first + i * r.team_stride + c * r.context_stride +
                             t * r.tensor_stride];
    for (const StateShare& share : run.state)
      if (share.kind == StateKind::kWeights && !share.experts)
        for (const RankRange& range : share.ranks)
          for (int i = 0; i < range.count; ++i)
            for (int s = 0; s < share.num_slices; ++s)
              weights_of_rank[range.first + i * range.stride + s * share.slice_stride] +=
                  static_cast<double>(share.end - share.begin) / kStateUnits / share.pieces;
  }
  const int group = d.zero_group > 0 ? d.zero_group : d.dp * d.cp;
  RC_ASSERT(static_cast<int>(stages_of_rank.size()) == d.num_ranks());
  for (const auto& [rank, stages] : stages_of_rank) RC_ASSERT(stages == d.interleave * streams);
  for (const auto& [rank, weights] : weights_of_rank)
    RC_ASSERT(std::abs(weights - d.interleave * streams / (d.zero == 3 ? double(group) : 1.0)) <
              1e-9);
}

TEST(AsRegular, OtherPlacementsAreNotRegular) {
  const model::Model model = make_dense(6);
  const Degrees d{.pp = 2, .dp = 2, .global_batch = 8};
  const Placement regular = expand(d, model);
  ASSERT_EQ(as_regular(regular, model), d);
  Placement p = regular;
  p.runs[1].replicas[0].recompute = Recompute::kFull;
  EXPECT_FALSE(as_regular(p, model));
  p = regular;
  p.split_vocabulary = false;
  EXPECT_FALSE(as_regular(p, model));
  p = regular;
  p.gather = Gather::kPerStep;
  EXPECT_FALSE(as_regular(p, model));
  p = regular;
  p.runs.clear();
  EXPECT_FALSE(as_regular(p, model));
  p = expand(d, model, {0, 2, 8});  // one block on the first stage, five on the second
  EXPECT_FALSE(as_regular(p, model));
  EXPECT_EQ(as_regular_with_own_stages(p, model), d);
}

RC_GTEST_PROP(AsRegular, SurvivesNonsense, ()) {
  const auto plan = any_valid_plan();
  Placement p = expand(plan.degrees, plan.model);
  LayerRun& run = p.runs[*rc::gen::inRange<std::size_t>(0, p.runs.size())];
  int* fields[] = {&run.replicas[0].count, &run.replicas[0].tp,          &run.replicas[0].cp,
                   &run.replicas[0].first, &run.replicas[0].micro_batch, &run.ep,
                   &run.expert_tp,         &run.state[0].pieces,         &run.num_layers,
                   &run.first_layer};
  *fields[*rc::gen::inRange(0, 10)] = testing::pick({-1, 0, 7, 1 << 20, INT_MAX, INT_MIN});
  const auto regular = as_regular(p, plan.model);
  if (regular) RC_ASSERT(expand(*regular, plan.model) == p);
}

}  // namespace
}  // namespace nereus::plan::expand_test
