#include "app/plan/plan_mixed_lift.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "cluster/catalogue.hpp"

namespace nereus::app::plan_mixed_lift_test {
namespace {

using ::testing::HasSubstr;

PlanRequest request_of(const std::string& model, const std::string& cluster, int batch) {
  PlanRequest request;
  request.model.model = model;
  request.cluster.cluster = cluster;
  request.choices.global_batch = batch;
  request.options.threads = 1;
  return request;
}

const Lift* find(const PlanAnswer& answer, const std::string& text) {
  for (const Lift& lift : answer.lifts)
    if (lift.change.find(text) != std::string::npos) return &lift;
  return nullptr;
}

double step_of(const PlanRequest& request) {
  const PlanAnswer answer = plan(request);
  return answer.plans.empty() ? 0 : answer.plans.front().prediction.step;
}

// The request with the changes that a suggestion states as options.
PlanRequest taken(PlanRequest request, const Lift& lift) {
  std::smatch found;
  if (std::regex_search(lift.change, found,
                        std::regex("--set cluster\\.(groups\\.\\d+\\.count)=(\\d+)")))
    request.cluster.overrides.push_back({found[1], found[2]});
  if (std::regex_search(lift.change, found, std::regex("--global-batch (\\d+)")))
    request.choices.global_batch = std::stoi(found[1]);
  if (std::regex_search(lift.change, found, std::regex("--precision (\\w+)")))
    request.precision = cluster::builtin_catalogue().find_precision(found[1].str());
  if (std::regex_search(lift.change, found, std::regex("--seq (\\d+)")))
    request.seq = std::stoi(found[1]);
  if (lift.change.find("--headroom 0") != std::string::npos) request.options.headroom = 0;
  request.lifts = false;
  return request;
}

// What it suggests fits, and a whole search finds nothing slower.
void expect_planned(const PlanRequest& request, const Lift& lift) {
  const double step = step_of(taken(request, lift));
  EXPECT_GT(step, 0) << lift.change;
  EXPECT_LE(step, lift.step * (1 + 1e-9)) << lift.change;
}

TEST(PlanMixedLift, FewestNodesOfEachKind) {
  const PlanRequest request = request_of("gpt3-6.7b", "1xg5.xlarge+1xg6.xlarge", 8);
  const PlanAnswer answer = plan(request);
  ASSERT_TRUE(answer.plans.empty());
  EXPECT_THAT(answer.binding, HasSubstr("weights, gradients and optimizer state take"));
  int kinds = 0;
  for (const Lift& lift : answer.lifts) {
    std::smatch found;
    if (!std::regex_search(lift.change, found, std::regex("groups\\.(\\d)\\.count=(\\d+)")))
      continue;
    ++kinds;
    expect_planned(request, lift);
    PlanRequest fewer = request;
    fewer.lifts = false;
    fewer.cluster.overrides.push_back(
        {"groups." + found[1].str() + ".count", std::to_string(std::stoi(found[2]) - 1)});
    EXPECT_EQ(step_of(fewer), 0) << lift.change << " is not the fewest";
  }
  EXPECT_EQ(kinds, 2);
}

TEST(PlanMixedLift, WhatWasFixedIsFreedOneAtATime) {
  PlanRequest request = request_of("gpt-neo-2.7b", "1xg5.xlarge+1xg6.xlarge+1xg4dn.xlarge", 64);
  ASSERT_GT(step_of(request), 0);
  request.choices.zero = {0, 1};
  request.choices.recompute = {search::RecomputeChoice::kNone};
  const PlanAnswer answer = plan(request);
  ASSERT_TRUE(answer.plans.empty());
  PlanRequest freed = request;
  freed.choices.zero.clear();
  EXPECT_EQ(find(answer, "another ZeRO stage") != nullptr, step_of(freed) > 0);
  freed = request;
  freed.choices.recompute.clear();
  const Lift* lift = find(answer, "another recompute");
  ASSERT_NE(lift, nullptr);
  EXPECT_LE(step_of(freed), lift->step * (1 + 1e-9));
}

TEST(PlanMixedLift, HeadroomIsGivenUp) {
  PlanRequest request = request_of("gpt3-1.3b", "1xg5.xlarge+1xg6.xlarge", 8);
  const double without = step_of(request);
  ASSERT_GT(without, 0);
  request.options.headroom = 0.7;
  const PlanAnswer answer = plan(request);
  ASSERT_TRUE(answer.plans.empty());
  const Lift* lift = find(answer, "no memory headroom");
  ASSERT_NE(lift, nullptr);
  EXPECT_GE(lift->step, without * (1 - 1e-9));
}

TEST(PlanMixedLift, NothingOfAnImpossibleTensorDegreeButAnotherOne) {
  PlanRequest request = request_of("gpt2", "1xg5.xlarge+1xg6.xlarge", 8);
  request.choices.tp = {4};
  const PlanAnswer answer = plan(request);
  ASSERT_TRUE(answer.plans.empty());
  EXPECT_THAT(answer.binding,
              HasSubstr("tp = 4 does not divide the number of devices of any node"));
  EXPECT_NE(find(answer, "another tensor-parallel degree"), nullptr);
}

// Every suggestion that states its options is what planning with them gives.
class Suggestions : public ::testing::TestWithParam<int> {};

TEST_P(Suggestions, AreWhatPlanningThemGives) {
  struct Case {
    const char* model;
    const char* cluster;
    int batch;
    double headroom;
    cluster::Precision precision;
    std::optional<int> seq;
    const char* among;  // what is suggested among others
  };
  const Case cases[] = {
      {"llama2-7b",
       "1xp3.8xlarge+2xg5.xlarge",
       16,
       0.3,
       cluster::Precision::kFp32,
       {},
       "p3.8xlarge"},
      {"gpt3-1.3b",
       "1xg5.xlarge+1xg6.xlarge",
       8,
       0.5,
       cluster::Precision::kFp32,
       {},
       "--headroom 0"},
      {"gpt3-6.7b",
       "4xg5.xlarge+2xg6.xlarge",
       4096,
       0.05,
       cluster::Precision::kBf16,
       {},
       "--offload"},
      {"gpt3-6.7b",
       "5xg5.xlarge+1xg6.xlarge",
       4096,
       0,
       cluster::Precision::kBf16,
       {},
       "global batch"},
      {"llama3-8b", "1xg5.12xlarge+1xg6.12xlarge", 8, 0, cluster::Precision::kBf16, 131072,
       "--seq"},
  };
  const Case& own = cases[GetParam()];
  PlanRequest request = request_of(own.model, own.cluster, own.batch);
  request.options.headroom = own.headroom;
  request.precision = own.precision;
  request.seq = own.seq;
  const PlanAnswer answer = plan(request);
  ASSERT_TRUE(answer.plans.empty()) << own.model;
  EXPECT_NE(find(answer, own.among), nullptr) << own.model;
  for (const Lift& lift : answer.lifts) {
    EXPECT_GT(lift.step, 0);
    if (lift.degrees) continue;  // of one kind alone
    expect_planned(request, lift);
  }
}

INSTANTIATE_TEST_SUITE_P(PlanMixedLift, Suggestions, ::testing::Range(0, 5));

}  // namespace
}  // namespace nereus::app::plan_mixed_lift_test
