#include "launch/elastic/step_times.hpp"

#include <gtest/gtest.h>

namespace nereus::launch::step_times_test {
namespace {

// `busy` of ranks 0, 1, ..: all wait for the busiest.
StepTimes after(const std::vector<double>& busy, std::size_t steps) {
  StepTimes times;
  const double step = *std::max_element(busy.begin(), busy.end()) + 0.1;
  for (std::size_t s = 0; s < steps; ++s)
    for (std::size_t r = 0; r < busy.size(); ++r) {
      job::Message message;
      message.seconds = step;
      message.waits.reduce = step - busy[r];
      times.add(static_cast<int>(r), message);
    }
  return times;
}

constexpr std::size_t kEnough = StepTimes::kWindow + StepTimes::kWarmUp;

TEST(StepTimes, FindsTheSlowOne) {
  const std::optional<SlowRank> slow = after({1, 1.1, 3, 0.9}, kEnough).slowest();
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->rank, 2);
  EXPECT_DOUBLE_EQ(slow->busy, 3);
  EXPECT_DOUBLE_EQ(slow->others, 1);
  EXPECT_DOUBLE_EQ(slow->step, 3.1);
  EXPECT_NEAR(slow->healthy, 1.2, 1e-12);
}

TEST(StepTimes, NeedsAReason) {
  EXPECT_FALSE(after({1, 1.1, 3, 0.9}, kEnough - 1).slowest());
  EXPECT_FALSE(after({1, 1.1, 1.2, 0.9}, kEnough).slowest());
  EXPECT_FALSE(after({5}, kEnough).slowest());
  // Slow of late alone is not enough.
  StepTimes late = after({1, 1, 1}, kEnough);
  for (std::size_t s = 0; s < StepTimes::kWindow; ++s) {
    EXPECT_EQ(late.slowest().has_value(), s >= StepTimes::kWindow / 2 + 4) << s;
    for (int rank = 0; rank < 3; ++rank) {
      job::Message message;
      message.seconds = 3;
      message.waits.reduce = rank == 1 ? 0 : 2;
      late.add(rank, message);
    }
  }
  // One bad step among many is none.
  StepTimes times = after({1, 1, 1}, kEnough);
  job::Message once;
  once.seconds = 60;
  times.add(1, once);
  EXPECT_FALSE(times.slowest());
}

TEST(StepTimes, LeftOutOnlyWhereThatIsFaster) {
  const SlowRank slow = *after({1, 1, 1, 3}, kEnough).slowest();  // 1.1 s were it healthy
  // Three instead of four machines take a third longer.
  const WithoutIt three{.planned_now = 0.3, .planned_without = 0.4, .lasts = 60, .morph = 1};
  ASSERT_TRUE(leaving_out_pays(slow, three));
  EXPECT_NEAR(*leaving_out_pays(slow, three), 1.1 * 4 / 3, 1e-12);
  // Were two stages left of which each holds twice as much, it would not be.
  EXPECT_FALSE(leaving_out_pays(slow, {0.3, 0.9, 60, 1}));
  // Nor if everything changes again before the morph is made good.
  EXPECT_FALSE(leaving_out_pays(slow, {0.3, 0.4, 1, 1}));
  EXPECT_FALSE(leaving_out_pays(slow, {0, 0.4, 60, 1}));
}

}  // namespace
}  // namespace nereus::launch::step_times_test
