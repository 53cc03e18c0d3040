#include "launch/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace nereus::launch::judge_test {
namespace {

using ::testing::HasSubstr;

constexpr double kTimeout = 10;

// Four ranks that were heard at second 100.
std::vector<RankState> ranks() {
  std::vector<RankState> list(4);
  for (int i = 0; i < 4; ++i) {
    list[i].rank = i;
    list[i].heard_at = 100;
    list[i].greeted = true;
  }
  return list;
}

void errs(RankState& state, double at, int missing, bool input = false) {
  job::Message message{.kind = job::MessageKind::kError, .rank = state.rank};
  message.message = "all-reduce 17";
  message.missing_rank = missing;
  message.input_error = input;
  state.error = message;
  state.error_at = at;
}

void ends(RankState& state, double at, int exit_code, int signal = 0) {
  state.ended = true;
  state.ended_at = at;
  state.exit_code = exit_code;
  state.signal = signal;
}

TEST(Judge, NobodyWhereAllIsWell) {
  std::vector<RankState> list = ranks();
  list[1].done = true;
  ends(list[1], 100, 0);
  EXPECT_EQ(judge(list, 100.5, kTimeout), std::nullopt);
  for (const RankState& state : list) EXPECT_FALSE(troubled(state, 100.5, kTimeout));
}

TEST(Judge, AllThatARankFoundWrongIsSaid) {
  std::vector<RankState> list = ranks();
  errs(list[2], 100, -1, true);
  job::Message other = *list[2].error;
  other.message = "and a loss of nothing";
  list[2].more_errors.push_back(other);
  const auto failure = judge(list, 100.6, kTimeout);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message, "all-reduce 17");
  EXPECT_EQ(failure->more, std::vector<job::Message>{other});
}

TEST(Judge, ADeathExplainsTheOthersErrorsWhicheverArrivesFirst) {
  for (const double death : {99.9, 100.4}) {
    std::vector<RankState> list = ranks();
    errs(list[0], 100, 2);
    errs(list[1], 100.1, -1);  // "connection reset", by nobody known
    ends(list[2], death, 0, SIGKILL);
    ends(list[3], 100.2, 0, SIGABRT);  // a library that gives up
    const auto failure = judge(list, 100.6, kTimeout);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->rank, 2);
    EXPECT_EQ(failure->code, "train.rank-died");
    EXPECT_THAT(failure->message, HasSubstr("signal 9"));
  }
}

TEST(Judge, AnErrorOfItsOwnGoesBeforeAbortsAndBlame) {
  std::vector<RankState> list = ranks();
  errs(list[0], 99.9, 3);
  errs(list[3], 100, -1);
  ends(list[1], 100.01, 0, SIGABRT);
  const auto failure = judge(list, 100.6, kTimeout);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 3);
  EXPECT_EQ(failure->message, "all-reduce 17");
  EXPECT_FALSE(failure->input_error);
}

TEST(Judge, WrongInputIsTheCause) {
  std::vector<RankState> list = ranks();
  ends(list[1], 99, 1);
  errs(list[2], 100.3, -1, true);
  const auto failure = judge(list, 100.6, kTimeout);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 2);
  EXPECT_TRUE(failure->input_error);
}

TEST(Judge, BlameIsFollowedToWhoSaysNothing) {
  std::vector<RankState> list = ranks();
  errs(list[0], 100, 1);
  errs(list[1], 100.1, 3);
  errs(list[2], 100.2, 1);
  const auto failure = judge(list, 100.6, kTimeout);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 3);
  EXPECT_EQ(failure->code, "train.rank-silent");
  EXPECT_THAT(failure->message, HasSubstr("rank 1 waited for it: all-reduce 17"));
}

TEST(Judge, BlameInACircleOrBeyondThisMachineIsSaidAsItIs) {
  std::vector<RankState> list = ranks();
  errs(list[0], 100, 1);
  errs(list[1], 100.1, 0);
  EXPECT_THAT(judge(list, 100.6, kTimeout)->message, HasSubstr("all-reduce 17"));
  list = ranks();
  errs(list[2], 100, 7);
  EXPECT_EQ(judge(list, 100.6, kTimeout)->rank, 2);
}

TEST(Judge, ASilentRankIsNamedThoughOthersTimedOutFirst) {
  std::vector<RankState> list = ranks();
  list[2].heard_at = 100 - kTimeout + 1;
  list[2].stopped = true;
  for (const std::size_t i : {0u, 1u, 3u}) errs(list[i], 99.8, -1);
  const auto failure = judge(list, 100.3, kTimeout);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 2);
  EXPECT_THAT(failure->message, HasSubstr("stopped"));
  EXPECT_FALSE(troubled(list[2], 100.3, kTimeout));  // by itself not yet
  EXPECT_TRUE(troubled(list[2], 101.3, kTimeout));
}

TEST(Judge, EndingWithoutAWordIsAFailureEvenWithCodeZero) {
  std::vector<RankState> list = ranks();
  ends(list[1], 100, 0);
  const auto failure = judge(list, 100.6, kTimeout);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 1);
  list[1].done = true;
  EXPECT_EQ(judge(list, 100.6, kTimeout), std::nullopt);
  list[1].exit_code = 75;
  EXPECT_EQ(judge(list, 100.6, kTimeout), std::nullopt);
  list[1].exit_code = 3;
  EXPECT_EQ(judge(list, 100.6, kTimeout)->rank, 1);
}

}  // namespace
}  // namespace nereus::launch::judge_test
