#include "app/train/machine_limits.hpp"

#include <gtest/gtest.h>

namespace nereus::app::machine_limits_test {
namespace {

TEST(MachineLimits, FollowTheMachine) {
  constexpr double kGiB = 1 << 30;
  EXPECT_EQ(most_processes(16 * kGiB), 163);
  EXPECT_EQ(most_processes(1 << 20), 8);
  EXPECT_GE(most_processes(1e30), 1 << 20);
  EXPECT_EQ(most_threads(2), 64);
  EXPECT_EQ(most_threads(0), 32);
}

TEST(MachineLimits, MoreIsRefusedWithTheMostThatFits) {
  ErrorList errors;
  check_processes("agents", 2, errors);
  check_threads("--threads", 4, errors);
  EXPECT_TRUE(errors.empty());
  check_processes("agents", 2'000'000, errors);
  check_threads("--threads", 10'000'000, errors);
  ASSERT_EQ(errors.list().size(), 2u);
  EXPECT_EQ(errors.list()[0].code, "train.too-many-processes");
  EXPECT_NE(
      errors.list()[0].message.find("2000000 agents are too many: each needs at least 100 MiB"),
      std::string::npos)
      << errors.list()[0].message;
  EXPECT_EQ(errors.list()[1].code, "train.too-many-threads");
}

}  // namespace
}  // namespace nereus::app::machine_limits_test
