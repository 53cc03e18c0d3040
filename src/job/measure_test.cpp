#include "job/measure.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace nereus::job::measure_test {
namespace {

TEST(MeasureJob, ReadsBackAsItWasWritten) {
  MeasureJob job;
  job.build = "0.1.0 abc";
  job.parts = "kernels links";
  job.device = "cuda";
  job.comm = "nccl";
  job.threads = 3;
  job.quick = true;
  job.folder = "/data";
  job.num_jobs = 2;
  job.team = 2;
  job.ports = "1000 1001";
  job.output = "out.json";
  EXPECT_EQ(parse_measure_job(measure_job_to_json(job), "job"), job);
  EXPECT_EQ(parse_measure_job("{}", "job"), MeasureJob{});
}

TEST(MeasureJob, KnowsItsParts) {
  MeasureJob job;
  job.parts = "kernels links";
  EXPECT_TRUE(job.wants("kernels"));
  EXPECT_TRUE(job.wants("links"));
  EXPECT_FALSE(job.wants("link"));
  EXPECT_FALSE(job.wants("disk"));
}

TEST(MeasureJob, WhatIsWrongIsSaid) {
  const auto code_of = [](const char* text) {
    try {
      parse_measure_job(text, "job");
    } catch (const Errors& errors) {
      return errors.list().front().code;
    }
    return std::string();
  };
  EXPECT_EQ(code_of(R"({"parts": "kernels lnks"})"), "measure.part");
  EXPECT_EQ(code_of(R"({"threads": 0})"), "spec.range");
  EXPECT_EQ(code_of(R"({"comm": "smoke"})"), "spec.choice");
  EXPECT_EQ(code_of(R"({"thread": 1})"), "spec.unknown-key");
}

}  // namespace
}  // namespace nereus::job::measure_test
