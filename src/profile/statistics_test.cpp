#include "profile/statistics.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numbers>

#include "base/random.hpp"

namespace nereus::profile::statistics_test {
namespace {

// Box and Muller 1958.
double normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

// A number of a machine: every process draws its own luck, every repeat of it some noise.
struct Luck {
  double between = 0;  // standard deviations, shares of the number
  double within = 0;
  bool skewed = false;  // noise of repeats makes slower only
};

Quantiles one_process(Random& random, const Luck& luck, int repeats) {
  const double own = 1 + luck.between * normal(random);
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i)
    seconds.push_back(own + luck.within *
                                (luck.skewed ? -std::log(1 - random.uniform()) : normal(random)));
  return quantiles_of(seconds);
}

Quantiles measured(Random& random, const Luck& luck, int processes, int repeats) {
  std::vector<Quantiles> found;
  for (int i = 0; i < processes; ++i) found.push_back(one_process(random, luck, repeats));
  return over_processes(found);
}

TEST(OverProcesses, IsStudentsInterval) {
  // Means 9, 10, 11, 12: 10.5, s = 1.29099, t(0.975, 3) = 3.18245.
  std::vector<Quantiles> found;
  for (const double own : {9.0, 10.0, 11.0, 12.0}) found.push_back({own, own - 1, own + 2, 3});
  const Quantiles all = over_processes(found);
  EXPECT_DOUBLE_EQ(all.median, 10.5);
  EXPECT_DOUBLE_EQ(all.low, 9.5);
  EXPECT_DOUBLE_EQ(all.high, 12.5);
  EXPECT_EQ(all.repeats, 12);
  EXPECT_EQ(all.processes, 4);
  EXPECT_NEAR(all.half_width, 3.18245 * 1.29099 / 2, 1e-4);
}

TEST(OverProcesses, OneHasNoInterval) {
  const Quantiles one = over_processes({{10, 9, 11, 5}});
  EXPECT_EQ(one, (Quantiles{10, 9, 11, 5, 1, 0}));
  EXPECT_FALSE(one.has_interval());
}

// Equal numbers and variances: d = 2 (n - 1). Of one that never strays: those of the other alone.
TEST(JointHalfWidth, IsWelchs) {
  std::vector<Quantiles> found;
  for (const double own : {9.0, 10.0, 11.0, 12.0}) found.push_back({own, own, own, 1});
  const Quantiles a = over_processes(found);
  const double error = 1.29099 / 2;
  EXPECT_NEAR(joint_half_width(a, a, 0.95), 2.44691 * error * std::sqrt(2), 1e-4);  // d = 6
  const Quantiles still = over_processes({{8, 8, 8, 1}, {8, 8, 8, 1}});
  EXPECT_NEAR(joint_half_width(a, still, 0.95), 3.18245 * error, 1e-4);  // d = 3
  EXPECT_EQ(joint_half_width(still, still, 0.95), 0);
}

RC_GTEST_PROP(JointHalfWidth, IsSymmetricAndGrowsWithConfidence, ()) {
  const auto number = [] {
    const int n = *rc::gen::inRange(2, 9);
    std::vector<Quantiles> found;
    for (int i = 0; i < n; ++i) {
      const double own = 1e-7 * *rc::gen::inRange(1, 1000);
      found.push_back({own, own, own, 1});
    }
    return over_processes(found);
  };
  const Quantiles a = number(), b = number();
  const double half = joint_half_width(a, b, 0.95);
  RC_ASSERT(half >= 0 && std::isfinite(half));
  RC_ASSERT(std::abs(half - joint_half_width(b, a, 0.95)) <= 1e-12 * half);
  RC_ASSERT(half <= joint_half_width(a, b, 0.999));
}

// In 4,000 trials the share of intervals that hold the truth strays by 0.0034 (one standard
// deviation) from 0.95.
constexpr int kTrials = 4000;

TEST(Coverage, IntervalsOverProcessesHoldTheTruthNineteenTimesInTwenty) {
  Random random(1);
  for (const Luck luck : {Luck{0.03, 0.01}, Luck{0.01, 0.03}, Luck{0.05, 0}, Luck{0, 0.02}})
    for (const int processes : {3, 5, 8}) {
      int holds = 0;
      for (int i = 0; i < kTrials; ++i) {
        const Quantiles q = measured(random, luck, processes, 5);
        if (std::abs(q.median - 1) <= q.half_width) ++holds;
      }
      EXPECT_NEAR(holds, 0.95 * kTrials, 0.012 * kTrials)
          << luck.between << " " << luck.within << " " << processes;
    }
}

// Noise that only slows down: the intervals cover the expected median of five repeats, 0.7833 of
// the exponential's mean (1/5 + 1/4 + 1/3).
TEST(Coverage, HoldsForSkewedRepeats) {
  Random random(2);
  const Luck luck{0.02, 0.02, true};
  int holds = 0;
  for (int i = 0; i < kTrials; ++i) {
    const Quantiles q = measured(random, luck, 5, 5);
    if (std::abs(q.median - (1 + 0.02 * (1.0 / 5 + 1.0 / 4 + 1.0 / 3))) <= q.half_width) ++holds;
  }
  EXPECT_NEAR(holds, 0.95 * kTrials, 0.015 * kTrials);
}

// Ranges from the repeats of one process are too narrow if processes differ by more than repeats
// do.
TEST(Coverage, RangesOfOneProcessDoNot) {
  Random random(3);
  int meet = 0, within = 0;
  for (int i = 0; i < kTrials; ++i) {
    const Luck luck{0.05, 0.005};
    if (ranges_meet(one_process(random, luck, 5), one_process(random, luck, 5))) ++meet;
    const Quantiles a = measured(random, luck, 5, 5), b = measured(random, luck, 5, 5);
    if (std::abs(a.median - b.median) <= joint_half_width(a, b, 0.95)) ++within;
  }
  EXPECT_LT(meet, 0.6 * kTrials);
  EXPECT_GT(within, 0.94 * kTrials);
}

}  // namespace
}  // namespace nereus::profile::statistics_test
