#include "chart/axis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <set>

#include "chart/chart_testing.hpp"

namespace nereus::chart::axis_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> labels(const Axis& axis, std::vector<double> values, int max_ticks = 7,
                                Ends ends = Ends::kRound) {
  std::vector<std::string> texts;
  for (const Tick& tick : make_scale(axis, values, 0, 100, max_ticks, ends).ticks)
    texts.push_back(tick.label);
  return texts;
}

TEST(Axis, LinearTicksAreRoundInTheUnitOfTheLargest) {
  EXPECT_THAT(labels({.title = "", .unit = Unit::kSeconds, .from_zero = true}, {0.011, 0.047}),
              ElementsAre("0 ms", "10 ms", "20 ms", "30 ms", "40 ms", "50 ms"));
  EXPECT_THAT(labels({.title = "", .unit = Unit::kSeconds, .from_zero = true}, {5400}),
              ElementsAre("0 min", "20 min", "40 min", "60 min", "80 min", "100 min"));
  EXPECT_THAT(labels({.title = "", .unit = Unit::kBytes, .from_zero = true}, {80 * kGiB}, 6),
              ElementsAre("0 GiB", "20 GiB", "40 GiB", "60 GiB", "80 GiB"));
  EXPECT_THAT(labels({.title = "", .unit = Unit::kShare}, {0.02, 0.19}, 5),
              ElementsAre("0 %", "5 %", "10 %", "15 %", "20 %"));
  EXPECT_THAT(labels({.title = "", .unit = Unit::kCount, .from_zero = true}, {2}),
              ElementsAre("0", "1", "2"));
  EXPECT_THAT(labels({.title = "", .unit = Unit::kUsd, .from_zero = true}, {2400, -900}),
              ElementsAre("-$1,000", "$0", "$1,000", "$2,000", "$3,000"));
}

// Values that differ in the fourth digit alone.
TEST(Axis, LabelsHaveAsManyDigitsAsTheyNeed) {
  EXPECT_THAT(labels({.title = "", .unit = Unit::kSeconds}, {1.001, 1.004}, 5),
              ElementsAre("1.000 s", "1.001 s", "1.002 s", "1.003 s", "1.004 s", "1.005 s"));
}

TEST(Axis, LogarithmicTicks) {
  EXPECT_THAT(labels({.title = "", .unit = Unit::kSeconds, .log = true}, {0.001, 86400 * 30.0}, 10),
              ElementsAre("10 ms", "1 s", "1 min", "1 h", "1 day"));
  EXPECT_THAT(labels({.title = "", .unit = Unit::kSeconds, .log = true}, {1, 86400}, 10),
              ElementsAre("1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "1 day"));
  EXPECT_THAT(labels({.title = "", .unit = Unit::kBytesPerSecond, .log = true}, {10e9, 700e9}, 8),
              ElementsAre("10 GB/s", "20 GB/s", "50 GB/s", "100 GB/s", "200 GB/s", "500 GB/s"));
  EXPECT_THAT(labels({.title = "", .unit = Unit::kBytes, .log = true}, {kGiB, 16 * kGiB}, 8),
              ElementsAre("1 GiB", "2 GiB", "4 GiB", "8 GiB", "16 GiB"));
  EXPECT_THAT(labels({.title = "", .unit = Unit::kUsd, .log = true}, {90, 2e6}, 8),
              ElementsAre("$100", "$1,000", "$10,000", "$100,000", "$1,000,000"));
  // Too little for powers of ten.
  EXPECT_THAT(labels({.title = "", .unit = Unit::kSeconds, .log = true}, {3.1, 3.9}, 6),
              ElementsAre("3.2 s", "3.4 s", "3.6 s", "3.8 s"));
}

TEST(Axis, LogarithmicPlaces) {
  const AxisScale scale = make_scale({.title = "", .log = true}, std::vector<double>{1, 10000}, 0,
                                     400, 9, Ends::kTight);
  EXPECT_NEAR(scale.at(1), 0, 1e-9);
  EXPECT_NEAR(scale.at(100), 200, 1e-9);
  EXPECT_NEAR(scale.at(10000), 400, 1e-9);
}

TEST(Axis, WithoutValues) {
  const double nan = std::nan("");
  for (const bool log : {false, true}) {
    const AxisScale scale = make_scale({.title = "", .log = log},
                                       std::vector<double>{nan, -INFINITY, -0.0 * log}, 0, 100, 6);
    EXPECT_LT(scale.low, scale.high);
    EXPECT_FALSE(scale.ticks.empty());
  }
  EXPECT_FALSE(has_place(nan, false));
  EXPECT_FALSE(has_place(1e200, false));
  EXPECT_FALSE(has_place(0, true));
  EXPECT_TRUE(has_place(-3, false));
}

RC_GTEST_PROP(Axis, EveryValueHasAPlaceAndTicksAreInOrder, ()) {
  const auto numbers = *rc::gen::container<std::vector<int>>(rc::gen::just(0));
  std::vector<double> values;
  for (std::size_t i = 0; i < numbers.size(); ++i) values.push_back(testing::any_number());
  const Axis axis{
      .title = "",
      .unit = *rc::gen::element(Unit::kNone, Unit::kCount, Unit::kSeconds, Unit::kBytes, Unit::kUsd,
                                Unit::kShare, Unit::kFlopsPerSecond, Unit::kParameters),
      .log = *rc::gen::arbitrary<bool>(),
      .from_zero = *rc::gen::arbitrary<bool>()};
  const int most = *rc::gen::inRange(2, 12);
  const Ends ends = *rc::gen::element(Ends::kRound, Ends::kTight);
  const AxisScale scale = make_scale(axis, values, 10, 710, most, ends);
  RC_ASSERT(std::isfinite(scale.low));
  RC_ASSERT(std::isfinite(scale.high));
  RC_ASSERT(scale.low < scale.high);
  RC_ASSERT(!axis.log || scale.low > 0);
  for (const double value : values) {
    if (!has_place(value, axis.log)) continue;
    RC_ASSERT(scale.at(value) >= 10 - 1e-3);
    RC_ASSERT(scale.at(value) <= 710 + 1e-3);
  }
  RC_ASSERT(std::ssize(scale.ticks) <= std::max(most + 2, 5));
  std::set<std::string> seen;
  for (std::size_t i = 0; i < scale.ticks.size(); ++i) {
    const Tick& tick = scale.ticks[i];
    RC_ASSERT(tick.value >= scale.low);
    RC_ASSERT(tick.value <= scale.high);
    if (i > 0) RC_ASSERT(tick.value > scale.ticks[i - 1].value);  // RC_ASSERT has no short cut
    RC_ASSERT(seen.insert(tick.label).second);
  }
}

}  // namespace
}  // namespace nereus::chart::axis_test
