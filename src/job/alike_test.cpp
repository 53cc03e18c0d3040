// Cards of jobs: equal where ranks may differ, and what differs is named where they may not.
#include "job/alike.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.hpp"
#include "plan/expand.hpp"
#include "plan/test_models.hpp"

namespace nereus::job::alike_test {
namespace {

Job some_job() {
  Job job;
  job.build = "0.1.0 abc";
  job.plan.model = plan::testing::make_dense(4);
  job.plan.cluster = plan::testing::make_cluster(1);
  job.plan.placement = plan::expand(plan::Degrees{}, job.plan.model);
  return job;
}

std::string fault_of(const std::function<void(Job&)>& change) {
  Job other = some_job();
  change(other);
  try {
    check_alike({job_card(some_job()), job_card(some_job()), job_card(other)});
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list().front().code, "train.ranks-differ");
    EXPECT_EQ(errors.list().front().kind, ErrorKind::kInput);
    return errors.list().front().message;
  }
  return "";
}

TEST(Alike, HostsMayDiffer) {
  EXPECT_EQ(fault_of([](Job& job) {
              job.plan.cluster = plan::testing::make_cluster(2);
              job.data.path = "elsewhere";
              job.checkpoint.folder = "";
              job.machine.threads = 7;
              job.machine.timeout_s = 5;
              job.output.timeline = "t";
            }),
            "");
}

TEST(Alike, WhatDiffersIsNamedWithItsRank) {
  EXPECT_EQ(fault_of([](Job& job) { job.training.seed = 7; }),
            "the ranks were started differently: rank 2 has seed 7 (rank 0: 0)");
  const std::string both = fault_of([](Job& job) {
    job.training.rate = 0.5;
    job.build = "0.1.0 def";
  });
  EXPECT_NE(both.find("rank 2 has build 0.1.0 def (rank 0: 0.1.0 abc), rate 0.5 (rank 0: "),
            std::string::npos)
      << both;
  EXPECT_NE(fault_of([](Job& job) {
              job.plan.model = plan::testing::make_dense(5);
            }).find("rank 2 has model "),
            std::string::npos);
  EXPECT_NE(fault_of([](Job& job) {
              job.plan.placement = plan::expand(plan::Degrees{.pp = 2}, job.plan.model);
            }).find("plan "),
            std::string::npos);
  EXPECT_NE(fault_of([](Job& job) { job.data.shuffle = false; }).find("shuffle false"),
            std::string::npos);
  EXPECT_NE(fault_of([](Job& job) { job.checkpoint.folder = "run"; }).find("checkpoints every"),
            std::string::npos);
  EXPECT_NE(fault_of([](Job& job) { job.checkpoint.resume = "run"; }).find("resumes yes"),
            std::string::npos);
}

TEST(Alike, CardsAreShort) {
  Job job = some_job();
  job.build = std::string(10'000, 'x');
  job.plan.model.name = std::string(10'000, '\n');
  EXPECT_LE(job_card(job).size(), kLongestCard);
  Job other = job;
  other.build.back() = 'y';
  EXPECT_NE(job_card(job), job_card(other));
}

}  // namespace
}  // namespace nereus::job::alike_test
