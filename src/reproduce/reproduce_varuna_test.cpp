#include "reproduce/reproduce_varuna.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "app/simulate/simulate_job.hpp"
#include "base/error.hpp"

namespace nereus::app::reproduce_varuna_test {
namespace {

ReproduceAnswer with(std::vector<std::pair<std::string, std::string>> overrides) {
  ReproduceRequest request;
  request.system = "varuna";
  request.overrides = std::move(overrides);
  return reproduce(request);
}

// Where failures are an hour or more apart: 8.0 % at most today.
TEST(ReproduceVaruna, ReplaysTheArtifactWithinTenPercent) {
  int compared = 0;
  for (const char* trace : {"6h", "3h", "1h"})
    for (const Claim& own : with({{"all.part", "replay"}, {"all.trace", trace}}).claims) {
      if (own.name.find("ours") != std::string::npos) continue;
      ++compared;
      ASSERT_TRUE(own.published && own.ours) << own.name;
      EXPECT_LE(std::abs(*own.ours / *own.published - 1), 0.095) << own.name;
    }
  EXPECT_EQ(compared, 3 * 5 * 3);
}

TEST(ReproduceVaruna, LargerDifferencesAreExplained) {
  const ReproduceAnswer all = with({{"all.part", "replay"}});
  EXPECT_EQ(all.claims.size(), 5u * 7 * 4);
  for (const Claim& own : all.claims) {
    const double off = *own.ours / *own.published - 1;
    if (own.name.find("ours") != std::string::npos) {
      EXPECT_TRUE(off >= 0 || own.note.find("% lower") != std::string::npos) << own.name;
    } else if (std::abs(off) > 0.1) {
      EXPECT_NE(own.note.find("artifact"), std::string::npos) << own.name;
    }
  }
}

TEST(ReproduceVaruna, OursIsNoWorseThanTheBestByMoreThanAStepUnderWay) {
  for (const Claim& own : with({{"all.part", "replay"}}).claims)
    if (own.name.find("ours") != std::string::npos) {
      EXPECT_GE(*own.ours, 0.953 * *own.published) << own.name;
    }
}

TEST(ReproduceVaruna, SettingsMoveTheClaims) {
  const auto ours = [](const char* seconds) {
    for (const Claim& own : with({{"all.part", "replay"},
                                  {"all.model", "GPT-3-6.7B"},
                                  {"all.trace", "10m"},
                                  {"all.detect_s", seconds}})
                                .claims)
      if (own.name.find("ours") != std::string::npos) return *own.ours;
    return 0.0;
  };
  EXPECT_GT(ours("2"), ours("200"));
  EXPECT_THROW(with({{"all.detect", "2"}}), Errors);
  EXPECT_THROW(with({{"all.detect_s", "soon"}}), Errors);
  EXPECT_THROW(with({{"all.model", "GPT-5"}}), Errors);
}

TEST(SimulateJob, ADedicatedClusterSavesAsDalySays) {
  JobRequest job;
  job.predict.model.model = "gpt2-xl";
  job.predict.cluster.cluster = "4xdgx-a100-80";
  job.predict.degrees.global_batch = 512;
  job.mtbf = 40 * 3600;
  job.checkpoint = 60;
  job.spares = 1;
  const JobAnswer answer = simulate_job(job);
  ASSERT_TRUE(answer.intervals);
  EXPECT_DOUBLE_EQ(answer.intervals->between, 36000);
  EXPECT_NEAR(answer.intervals->daly, 2036, 5);
  EXPECT_GE(answer.intervals->useful_simulated, answer.intervals->useful_daly - 1e-3);
  EXPECT_LE(answer.intervals->useful_simulated, answer.intervals->useful_daly + 0.02);
}

}  // namespace
}  // namespace nereus::app::reproduce_varuna_test
