#include "job/norm_check.hpp"

#include <gtest/gtest.h>

#include "plan/expand.hpp"

namespace nereus::job::norm_check_test {
namespace {

plan::Plan plan_of(const model::CnnShape& shape, int dp, int micro_batch, int pp = 1,
                   plan::Schedule schedule = plan::Schedule::k1f1b) {
  plan::Degrees d;
  d.dp = dp;
  d.pp = pp;
  d.micro_batch = micro_batch;
  d.global_batch = dp * micro_batch * 4;
  d.schedule = schedule;
  plan::Plan plan;
  plan.model = model::build_cnn(shape);
  plan.degrees = d;
  plan.placement = plan::expand(d, plan.model);
  return plan;
}

const model::CnnShape kResnet{.name = "r", .family = "resnet", .depth = 10, .image = 64};

Training norm(NormScope scope, int group) {
  Training training;
  training.norm = scope;
  training.norm_group = group;
  return training;
}

std::vector<std::string> codes(const plan::Plan& plan, const Training& training) {
  std::vector<std::string> list;
  for (const Error& error : check_norm(plan, training)) list.push_back(error.code);
  return list;
}

using Codes = std::vector<std::string>;

TEST(NormCheck, MicroBatchesHoldWholeGroups) {
  for (const int size : {1, 2, 3, 6})
    for (const int group : {1, 2, 3, 4, 6, 12})
      EXPECT_EQ(codes(plan_of(kResnet, 2, size), norm(NormScope::kGroup, group)),
                size % group == 0 ? Codes{} : Codes{"train.norm-group"})
          << size << " " << group;
  EXPECT_EQ(codes(plan_of(kResnet, 2, 3), norm(NormScope::kGroup, 0)), Codes{});
}

TEST(NormCheck, TheHintNamesTheNearestGroupsAndMicroBatches) {
  const std::vector<Error> errors = check_norm(plan_of(kResnet, 2, 12), norm(NormScope::kGroup, 5));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].message.find("12 samples"), std::string::npos) << errors[0].message;
  EXPECT_NE(errors[0].message.find("groups of 5"), std::string::npos) << errors[0].message;
  EXPECT_EQ(errors[0].hint, "--norm-group 4 or 6; or --micro-batch 15; or --norm sync");
}

TEST(NormCheck, AShortLastMicroBatchCounts) {
  plan::Plan plan = plan_of(kResnet, 1, 4);
  plan.placement.runs[0].replicas[0].last_micro_batch = 3;
  EXPECT_EQ(codes(plan, norm(NormScope::kGroup, 2)), Codes{"train.norm-group"});
  EXPECT_EQ(codes(plan, norm(NormScope::kGroup, 1)), Codes{});
}

TEST(NormCheck, RanksThatMeetHaveAsManyMicroBatches) {
  plan::Plan plan = plan_of(kResnet, 2, 2);
  EXPECT_EQ(codes(plan, norm(NormScope::kSync, 0)), Codes{});
  EXPECT_EQ(codes(plan, norm(NormScope::kSync, 2)), Codes{"train.norm-group"});
  plan::Replicas other = plan.placement.runs[0].replicas[0];
  other.num_micro_batches = 2;
  plan.placement.runs[0].replicas.push_back(other);
  EXPECT_EQ(codes(plan, norm(NormScope::kSync, 0)), Codes{"train.norm-sync"});
  EXPECT_EQ(codes(plan_of(kResnet, 1, 1, 2, plan::Schedule::kDualPipe), norm(NormScope::kSync, 0)),
            Codes{"train.norm-sync"});
}

// An image of 32 leaves one position to the last stage.
TEST(NormCheck, OneNumberHasNoVariance) {
  model::CnnShape small = kResnet;
  small.image = 32;
  EXPECT_EQ(codes(plan_of(small, 2, 1), norm(NormScope::kGroup, 0)), Codes{"train.norm-one-value"});
  EXPECT_EQ(codes(plan_of(small, 2, 2), norm(NormScope::kGroup, 1)), Codes{"train.norm-one-value"});
  EXPECT_EQ(codes(plan_of(small, 2, 2), norm(NormScope::kGroup, 0)), Codes{});
  EXPECT_EQ(codes(plan_of(small, 2, 1), norm(NormScope::kSync, 0)), Codes{});
  EXPECT_EQ(codes(plan_of(small, 1, 1), norm(NormScope::kSync, 0)), Codes{"train.norm-one-value"});
}

TEST(NormCheck, ModelsWithoutNormsAreLeftAlone) {
  const model::CnnShape plain{
      .name = "v", .family = "vgg", .depth = 11, .image = 32, .batch_norm = false};
  EXPECT_EQ(codes(plan_of(plain, 2, 1), norm(NormScope::kGroup, 5)), Codes{});
}

}  // namespace
}  // namespace nereus::job::norm_check_test
