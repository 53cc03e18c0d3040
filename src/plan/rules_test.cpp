#include "plan/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plan/complete.hpp"
#include "plan/test_plans.hpp"

namespace nereus::plan::rules_test {
namespace {

using ::testing::HasSubstr;
using testing::make_cluster;
using testing::make_dense;
using testing::make_experts;

const Error* find(const ErrorList& errors, const std::string& code) {
  for (const Error& error : errors.list())
    if (error.code == code) return &error;
  return nullptr;
}

// Changes one thing of a valid plan and expects exactly this rule to be broken.
struct Case {
  Rule rule;
  void (*spoil)(Degrees&);
};

TEST(Rules, EachIsSeenAlone) {
  const Degrees valid{.tp = 2,
                      .pp = 2,
                      .dp = 4,
                      .cp = 2,
                      .ep = 4,
                      .expert_tp = 1,
                      .interleave = 1,
                      .micro_batch = 2,
                      .global_batch = 32,
                      .sequence_parallel = true};
  const model::Model model = make_experts(6);
  const cluster::Cluster cluster = make_cluster(4, 8);
  ASSERT_TRUE(check_degrees(valid, model, cluster).empty());
  const Case cases[] = {
      {Rule::kDegree, [](Degrees& d) { d.ep = 0; }},
      {Rule::kDevices, [](Degrees& d) { d.dp = 8; }},
      {Rule::kBatch, [](Degrees& d) { d.global_batch = 33; }},
      {Rule::kStages, [](Degrees& d) { d.interleave = 5, d.schedule = Schedule::kLoopedBfs; }},
      {Rule::kSchedule, [](Degrees& d) { d.interleave = 2; }},
      {Rule::kSchedule, [](Degrees& d) { d.schedule = Schedule::kZbV; }},
      {Rule::kSchedule, [](Degrees& d) { d.schedule = Schedule::kVaruna; }},
      {Rule::kSchedule,
       [](Degrees& d) {
         d.schedule = Schedule::kVaruna, d.recompute = Recompute::kFull, d.recompute_blocks = 1;
       }},
      {Rule::kMicroBatches,
       [](Degrees& d) {
         d.schedule = Schedule::kInterleaved, d.interleave = 2, d.global_batch = 24;
       }},
      {Rule::kMicroBatches,
       [](Degrees& d) { d.schedule = Schedule::kDualPipe, d.global_batch = 16; }},
      {Rule::kExperts, [](Degrees& d) { d.ep = 16; }},
      {Rule::kExpertTensor, [](Degrees& d) { d.ep = 1, d.expert_tp = 64; }},
      {Rule::kZero, [](Degrees& d) { d.zero = 4; }},
      {Rule::kZeroGroup, [](Degrees& d) { d.zero_group = 3; }},
      {Rule::kPrecision, [](Degrees& d) { d.precision = cluster::Precision::kFp8; }},
      {Rule::kOffload, [](Degrees& d) { d.offload.weights = 1.5; }},
  };
  for (const Case& c : cases) {
    Degrees d = valid;
    c.spoil(d);
    const RuleSet others = violated_rules(d, degree_limits(model, cluster)) & ~bit_of(c.rule);
    // ep = 16 and expert_tp = 64 cannot help but miss the ranks as well.
    EXPECT_EQ(others & ~bit_of(Rule::kExpertRanks), 0u) << code_of(c.rule);
    const ErrorList errors = check_degrees(d, model, cluster);
    const Error* error = find(errors, std::string(code_of(c.rule)));
    ASSERT_NE(error, nullptr) << code_of(c.rule);
    EXPECT_FALSE(error->hint.empty()) << code_of(c.rule);
  }
}

TEST(Rules, AllAtOnceWithNumbersAndNearestChoices) {
  const Degrees d{.tp = 3,
                  .pp = 9,
                  .dp = 5,
                  .cp = 3,
                  .micro_batch = 2,
                  .global_batch = 64,
                  .zero = 7,
                  .precision = cluster::Precision::kFp64};
  const ErrorList errors = check_degrees(d, make_dense(6), make_cluster(2, 8));
  std::set<std::string> codes;
  for (const Error& error : errors.list()) codes.insert(error.code);
  for (const char* code : {"plan.devices", "plan.batch", "plan.heads", "plan.kv-heads", "plan.ffn",
                           "plan.stages", "plan.context", "plan.zero", "plan.no-precision"})
    EXPECT_TRUE(codes.contains(code)) << code;
  EXPECT_THAT(find(errors, "plan.devices")->message, HasSubstr("3 x 9 x 5 x 3 = 405 ranks"));
  EXPECT_THAT(find(errors, "plan.devices")->message, HasSubstr("16 devices"));
  EXPECT_EQ(find(errors, "plan.heads")->hint, "tp = 2 or 4");
  EXPECT_THAT(find(errors, "plan.batch")->hint, HasSubstr("global_batch = 60 or 70"));
  EXPECT_EQ(find(errors, "plan.context")->hint, "cp = 2 or 4");
  EXPECT_THAT(find(errors, "plan.stages")->hint, HasSubstr("pp = 8"));
  EXPECT_EQ(find(errors, "plan.no-precision")->hint, "it has fp32, fp16, bf16");
}

TEST(Rules, NearestDegreeForTheDevices) {
  const Degrees d{.tp = 2, .pp = 2, .dp = 3, .global_batch = 3};
  const ErrorList errors = check_degrees(d, make_dense(6), make_cluster(2, 8));
  ASSERT_EQ(errors.list().size(), 1u);
  EXPECT_THAT(errors.list()[0].hint, HasSubstr("dp = 4"));
}

TEST(Rules, WhatNeedNotDivideIsLegal) {
  // 7 blocks on 4 stages, 100 words on 8 tensor ranks, 4 key-value heads on 8 tensor ranks.
  const Degrees d{.tp = 8, .pp = 4, .global_batch = 8};
  EXPECT_TRUE(check_degrees(d, make_dense(7), make_cluster(4, 8)).empty());
}

TEST(Rules, ModelsWithoutHeadsOrSequence) {
  model::Model model;
  model.name = "tiny";
  model.kinds.resize(1);
  model.kinds[0].operators.resize(1);
  model.kinds[0].operators[0].kind = model::OpKind::kConvolution;
  model.layers = {0, 0};
  const auto violated = [&](const Degrees& d) {
    return violated_rules(d, degree_limits(model, make_cluster(2)));
  };
  EXPECT_EQ(violated({.dp = 2, .global_batch = 2}), 0u);
  EXPECT_EQ(violated({.tp = 2}), bit_of(Rule::kTensor));
  EXPECT_EQ(violated({.cp = 2}), bit_of(Rule::kContext));
  EXPECT_EQ(violated({.dp = 2, .ep = 2, .global_batch = 2}), bit_of(Rule::kExperts));
  EXPECT_TRUE(violated({.dp = 2, .global_batch = 2, .sequence_parallel = true}) &
              bit_of(Rule::kSequenceParallel));
}

TEST(Rules, OffloadNeedsItsTierOnEveryNode) {
  const model::Model model = make_dense(2);
  cluster::Cluster cluster = make_cluster(1);
  Degrees d{.offload = {.optimizer = 0.5}};
  EXPECT_TRUE(check_degrees(d, model, cluster).empty());
  d.offload.tier = Tier::kExpanded;
  EXPECT_TRUE(check_degrees(d, model, cluster).empty());
  // The message names the tier that lacks, the hint those that are there.
  d.offload.tier = Tier::kNvme;
  const ErrorList errors = check_degrees(d, model, cluster);
  const Error* error = find(errors, "plan.no-tier");
  ASSERT_NE(error, nullptr);
  EXPECT_THAT(error->message, HasSubstr("nvme"));
  EXPECT_THAT(error->hint, HasSubstr("host, expanded"));
  // One node without it is enough.
  cluster.groups.push_back(cluster.groups.front());
  cluster.groups[1].node.name = "poor";
  cluster.groups[1].node.tiers.clear();
  d = {.dp = 2, .global_batch = 2, .offload = {.optimizer = 0.5}};
  const ErrorList mixed = check_degrees(d, model, cluster);
  error = find(mixed, "plan.no-tier");
  ASSERT_NE(error, nullptr);
  EXPECT_THAT(error->message, HasSubstr("poor"));
  d.offload = {.tier = Tier::kDevice};
  EXPECT_TRUE(check_degrees(d, model, cluster).empty());  // of nothing
  d.offload.weights = 1;
  EXPECT_NE(find(check_degrees(d, model, cluster), "plan.no-tier"), nullptr);
}

TEST(Rules, HugeDegreesDoNotWrapRound) {
  constexpr int kHuge = 1 << 30;
  Degrees d{.tp = kHuge, .pp = kHuge, .dp = kHuge, .cp = kHuge, .ep = kHuge, .expert_tp = kHuge};
  d.interleave = d.micro_batch = d.global_batch = d.zero_group = kHuge;
  d.schedule = Schedule::kDualPipe;
  d.sequence_parallel = true;
  EXPECT_FALSE(check_degrees(d, make_experts(2), make_cluster(1)).empty());
  const CompletedDegrees completed =
      complete_degrees({.tp = kHuge, .pp = kHuge, .cp = kHuge, .micro_batch = kHuge}, make_dense(2),
                       make_cluster(1));
  EXPECT_EQ(completed.degrees.dp, 1);
}

TEST(Complete, VarunaMeansFullRecompute) {
  const CompletedDegrees c =
      complete_degrees({.pp = 2, .schedule = Schedule::kVaruna}, make_dense(6), make_cluster(4, 8));
  EXPECT_EQ(c.degrees.recompute, Recompute::kFull);
  EXPECT_TRUE(check_degrees(c.degrees, make_dense(6), make_cluster(4, 8)).empty());
  const CompletedDegrees other =
      complete_degrees({.pp = 2, .schedule = Schedule::kGpipe}, make_dense(6), make_cluster(4, 8));
  EXPECT_EQ(other.degrees.recompute, Recompute::kNone);
}

TEST(Complete, DerivesDataParallelAndBatch) {
  const CompletedDegrees c =
      complete_degrees({.tp = 2, .pp = 2, .micro_batch = 3}, make_dense(6), make_cluster(4, 8));
  EXPECT_EQ(c.degrees.dp, 8);
  EXPECT_EQ(c.degrees.global_batch, 8 * 3 * 8);
  EXPECT_EQ(c.degrees.precision, cluster::Precision::kBf16);
  EXPECT_TRUE(check_degrees(c.degrees, make_dense(6), make_cluster(4, 8)).empty());
  const std::set<std::string> derived(c.derived.begin(), c.derived.end());
  EXPECT_TRUE(derived.contains("dp"));
  EXPECT_TRUE(derived.contains("global_batch"));
  EXPECT_FALSE(derived.contains("tp"));
  EXPECT_FALSE(derived.contains("micro_batch"));
}

TEST(Complete, TheFirstFreeAxisTakesTheRest) {
  const auto complete = [](const DegreesRequest& request) {
    return complete_degrees(request, make_dense(6), make_cluster(4, 8)).degrees;
  };
  EXPECT_EQ(complete({.dp = 4}).pp, 8);
  EXPECT_EQ(complete({.pp = 4, .dp = 2}).tp, 4);
  EXPECT_EQ(complete({.tp = 2, .pp = 4, .dp = 2}).cp, 2);
  EXPECT_EQ(complete({.interleave = 2}).schedule, Schedule::kInterleaved);
}

TEST(Complete, ExpertsFollowTheTensorDegreeWhereTheyCan) {
  const auto expert_tp = [](int tp, int ep) {
    return complete_degrees({.tp = tp, .ep = ep}, make_experts(4), make_cluster(4, 8))
        .degrees.expert_tp;
  };
  EXPECT_EQ(expert_tp(2, 4), 2);
  EXPECT_EQ(expert_tp(8, 8), 1);  // only 4 data ranks for 8 expert groups
}

}  // namespace
}  // namespace nereus::plan::rules_test
