#include "job/job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"
#include "plan/expand.hpp"
#include "plan/test_plans.hpp"

namespace nereus::job::job_test {
namespace {

using ::nereus::testing::codes_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

plan::Plan small_plan(int layers, int dp) {
  plan::Plan plan;
  plan.model = plan::testing::make_dense(layers);
  plan.cluster = plan::testing::make_cluster(dp);
  plan.stack = "megatron";
  plan::Degrees degrees;
  degrees.dp = dp;
  degrees.global_batch = 2 * dp;
  plan.degrees = degrees;
  plan.placement = plan::expand(degrees, plan.model);
  return plan;
}

std::string any_text() {
  return *rc::gen::element<std::string>("", "a b", "/data/\"tokens\".bin", "größe\n\t", "\x01");
}

double any_share() { return *rc::gen::inRange(0, 100001) / 100000.0; }

Job any_job() {
  Job job;
  job.build = "0.1.0 abcdef";
  job.plan = small_plan(*rc::gen::inRange(1, 4), *rc::gen::inRange(1, 4));
  Training& t = job.training;
  t.steps = *rc::gen::inRange<std::int64_t>(1, 1LL << 60);
  t.seed = *rc::gen::arbitrary<std::uint64_t>();
  t.optimizer = *rc::gen::element(OptimizerKind::kAdamW, OptimizerKind::kSgd);
  t.rate = any_share();
  t.last_rate = any_share() * 1e-9;
  t.rate_schedule =
      *rc::gen::element(RateSchedule::kConstant, RateSchedule::kLinear, RateSchedule::kCosine);
  t.warmup_steps = *rc::gen::inRange(0, 1000);
  t.decay_steps = *rc::gen::inRange(0, 1000);
  t.beta1 = any_share();
  t.beta2 = any_share();
  t.epsilon = any_share() * 1e-7;
  t.momentum = any_share();
  t.weight_decay = any_share();
  t.clip = any_share() * 10;
  t.dropout = any_share();
  t.norm = *rc::gen::element(NormScope::kGroup, NormScope::kSync);
  t.norm_group = *rc::gen::inRange(0, 64);
  job.data = {*rc::gen::element(Data::Kind::kSynthetic, Data::Kind::kTokens, Data::Kind::kImages),
              any_text(), *rc::gen::arbitrary<bool>(), *rc::gen::inRange(1, 9),
              *rc::gen::inRange(0, 9)};
  job.checkpoint = {any_text(), *rc::gen::inRange(0, 100), *rc::gen::inRange(1, 5), any_text()};
  job.machine = {*rc::gen::element<std::string>("cpu", "cuda"),
                 *rc::gen::element<std::string>("gloo", "nccl", "shared"),
                 *rc::gen::inRange(1, 65),
                 *rc::gen::arbitrary<bool>(),
                 any_share() * 100,
                 *rc::gen::arbitrary<bool>()};
  job.output = {any_text(), *rc::gen::inRange(1, 50), any_text()};
  job.measuring = {*rc::gen::inRange(0, 100) / 4.0, *rc::gen::inRange(2, 50),
                   *rc::gen::inRange(2, 50)};
  job.sharing = {any_text(), *rc::gen::inRange(1, 9), *rc::gen::arbitrary<bool>(), any_share()};
  return job;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  NEREUS_CHECK(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

RC_GTEST_PROP(Job, ReadsBackEqual, ()) {
  const Job job = any_job();
  RC_ASSERT(parse_job(job_to_json(job), "job") == job);
}

TEST(Job, WhatIsLeftOutIsAtItsDefault) {
  Job job;
  job.build = "b";
  job.plan = small_plan(2, 1);
  std::string text = job_to_json(job);
  for (const char* part :
       {"training", "data", "checkpoint", "machine", "output", "measuring", "sharing"}) {
    const std::size_t at = text.find(std::string("\n\"") + part + "\": ");
    ASSERT_NE(at, std::string::npos);
    text.erase(at, text.find('\n', at + 1) - at);
  }
  EXPECT_EQ(parse_job(text, "job"), job);
}

TEST(Job, SaysAllThatIsWrongAtOnce) {
  Job job;
  job.build = "b";
  job.plan = small_plan(2, 1);
  std::string text = job_to_json(job);
  text = replaced(text, "\"steps\"", "\"step\"");
  text = replaced(text, "\"adamw\"", "\"adamm\"");
  text = replaced(text, "\"gloo\"", "\"glue\"");
  text = replaced(text, "\"threads\":1", "\"threads\":0");
  text = replaced(text, "\"global_batch\":2", "\"global_batch\":\"two\"");
  EXPECT_THAT(codes_of([&] { parse_job(text, "job"); }),
              ::testing::UnorderedElementsAre("spec.unknown-key", "spec.choice", "spec.choice",
                                              "spec.range", "spec.type"));
}

TEST(Job, PlansOfAnotherVersionAndJobsOfAnotherVersionAreErrorsOfTheirOwn) {
  Job job;
  job.build = "b";
  job.plan = small_plan(2, 1);
  const std::string text = job_to_json(job);
  const std::string version = "\"schema_version\": 1";
  EXPECT_THAT(codes_of([&] { parse_job(replaced(text, version, "\"schema_version\": 7"), "job"); }),
              ElementsAre("job.schema-version"));
  const std::string inner = "\"plan\": {\n\"schema_version\": 1";
  EXPECT_THAT(codes_of([&] {
                parse_job(replaced(text, inner, "\"plan\": {\n\"schema_version\": 7"), "job");
              }),
              ElementsAre("plan.schema-version"));
  EXPECT_THAT(codes_of([&] { parse_job("{\"schema_version\": 1, \"build\": \"b\"}", "job"); }),
              ElementsAre("spec.missing-key"));
}

TEST(Job, LoadingChecksThePlan) {
  const TemporaryFolder folder;
  const std::string path = folder / "job.json";
  Job job;
  job.build = "b";
  job.plan = small_plan(2, 2);
  save_job(path, job);
  EXPECT_EQ(load_job(path), job);
  job.plan.placement.runs[0].replicas[0].first = 1;  // rank 2 of 2
  save_job(path, job);
  EXPECT_FALSE(codes_of([&] { load_job(path); }).empty());
  std::filesystem::remove(path);
  EXPECT_THAT(codes_of([&] { load_job(path); }), ElementsAre("spec.no-file"));
}

TEST(MemoryLimit, IsOneForAllOrOneARank) {
  Machine machine;
  EXPECT_EQ(memory_limit(machine, 1, 2), 0);
  machine.memory_limits = "3 GiB";
  EXPECT_EQ(memory_limit(machine, 1, 2), 3.0 * (1 << 30));
  machine.memory_limits = "40GB,1GB";
  EXPECT_EQ(memory_limit(machine, 1, 2), 1e9);
  EXPECT_THAT(codes_of([&] { memory_limit(machine, 0, 3); }), ElementsAre("train.memory-limit"));
  for (const char* wrong : {"40", "-1GiB", "0 GiB", "much", "1GiB,", ","}) {
    machine.memory_limits = wrong;
    EXPECT_THAT(codes_of([&] { memory_limit(machine, 0, 2); }), ElementsAre("train.memory-limit"))
        << wrong;
  }
}

}  // namespace
}  // namespace nereus::job::job_test
