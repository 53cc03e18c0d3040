// The controller with a simulated foreground: a step takes alone x (1 + toll + cost x share), with
// the toll only if the background runs at all, and a little noise.
#include "launch/background/pace.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.hpp"

namespace nereus::launch::pace_test {
namespace {

struct Plant {
  double alone = 0.1;
  double cost = 1;  // slow-down while the background runs all the time
  double noise = 0.01;
  double toll = 0;
  bool present = false;  // it takes turns, so it waits where it does not run
};

struct Played {
  std::vector<double> shares;  // before each step
  std::vector<double> slowdowns;
};

double unit(Random& random) { return static_cast<double>(random.below(1'000'000)) / 1e6; }

// `change(step, plant)` before every step.
Played play(Pace& pace, Plant plant, int num_steps,
            const std::function<void(int, Plant&)>& change = nullptr, std::uint64_t seed = 1) {
  Played played;
  Random random(seed);
  for (int i = 0; i < num_steps; ++i) {
    if (change) change(i, plant);
    const double share = pace.share();
    const double slowdown = share > 0 ? plant.toll + plant.cost * share : 0;
    const double noise = plant.noise * (unit(random) + unit(random) + unit(random) - 1.5);
    pace.step(plant.alone * (1 + slowdown) * (1 + noise), share, plant.present);
    played.shares.push_back(share);
    played.slowdowns.push_back(slowdown);
  }
  return played;
}

std::vector<double> tail(const std::vector<double>& values, std::size_t count) {
  return {values.end() - static_cast<std::ptrdiff_t>(count), values.end()};
}

std::vector<double> without_probes(const std::vector<double>& shares) {
  std::vector<double> running;
  for (const double share : shares)
    if (share > 0) running.push_back(share);
  return running;
}

TEST(Pace, MeasuresAloneFirst) {
  Pace pace({.warmup_steps = 2, .alone_steps = 8});
  const Played played = play(pace, {}, 40);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(played.shares[i], 0) << i;
  EXPECT_GT(played.shares[10], 0);
  EXPECT_NEAR(pace.alone(), 0.1, 0.001);
}

// Whatever the background costs: within the bound, and most of what the bound allows is used.
TEST(Pace, HoldsTheBoundAndUsesIt) {
  for (const double cost : {0.02, 0.1, 0.5, 1.0, 3.0})
    for (const double bound : {0.02, 0.05, 0.2})
      for (const std::uint64_t seed : {1, 2, 3}) {
        Pace pace({.bound = bound});
        const Played played = play(pace, {.cost = cost, .noise = 0.002}, 600, nullptr, seed);
        const double share = quantile(without_probes(tail(played.shares, 300)), 0.5);
        const double allowed = std::min(1.0, bound / cost);
        EXPECT_GE(share, 0.3 * allowed) << "cost " << cost << ", bound " << bound;
        for (const double slowdown : tail(played.slowdowns, 300))
          ASSERT_LE(slowdown, bound) << "cost " << cost << ", bound " << bound;
        EXPECT_LE(pace.slowdown().median, bound);
        EXPECT_TRUE(pace.slowdown().held(bound)) << "cost " << cost << ", bound " << bound;
      }
}

TEST(Pace, DoesNotSwing) {
  Pace pace({.bound = 0.05});
  const Played played = play(pace, {.cost = 0.7}, 1000);
  const std::vector<double> shares = without_probes(tail(played.shares, 600));
  EXPECT_LE(quantile(shares, 0.95) / quantile(shares, 0.05), 1.6);
  int turns = 0;
  for (std::size_t i = 2; i < shares.size(); ++i)
    turns += (shares[i] - shares[i - 1]) * (shares[i - 1] - shares[i - 2]) < 0 ? 1 : 0;
  EXPECT_LE(turns, 8);
}

// The background becomes five times as costly: back under the bound within 30 steps.
TEST(Pace, AnswersAStepOfCost) {
  Pace pace({.bound = 0.05});
  const Played played = play(pace, {.cost = 0.2}, 400, [](int step, Plant& plant) {
    if (step == 200) plant.cost = 1;
  });
  EXPECT_GT(played.slowdowns[201], 0.05);
  for (std::size_t i = 230; i < played.slowdowns.size(); ++i)
    ASSERT_LE(played.slowdowns[i], 0.05) << "step " << i;
}

// The foreground itself becomes slower (longer sequences, a warmer machine): that is not charged to
// the background for long.
TEST(Pace, ForegroundThatChangesIsMeasuredAgain) {
  for (const double factor : {0.6, 2.0}) {
    Pace pace({.bound = 0.05});
    const Played played = play(pace, {.cost = 0.5}, 800, [&](int step, Plant& plant) {
      plant.alone = step < 300 ? 0.1 : 0.1 * factor;
    });
    EXPECT_NEAR(pace.alone(), 0.1 * factor, 0.005);
    const double before =
        quantile(without_probes({played.shares.begin() + 200, played.shares.begin() + 300}), 0.5);
    const double after = quantile(without_probes(tail(played.shares, 100)), 0.5);
    EXPECT_GE(after, 0.5 * before) << "factor " << factor;
    for (const double slowdown : tail(played.slowdowns, 200)) ASSERT_LE(slowdown, 0.05);
  }
}

TEST(Pace, BackgroundThatCostsTooMuchRunsOnlyAfterProbes) {
  Pace pace({.bound = 0.05, .probe_every = 64});
  const Played played = play(pace, {.cost = 100}, 1000);
  const std::vector<double> late = tail(played.shares, 600);
  const auto ran = std::count_if(late.begin(), late.end(), [](double s) { return s > 0; });
  EXPECT_GT(ran, 0);  // it is tried again
  EXPECT_LE(ran, 60);
}

// With turns: a foreground whose steps vary, every tenth takes 40 % longer by itself, keeps its
// background, and uses what the bound allows.
TEST(Pace, TurnsAreNotCutForTheForegroundsOwnUnrest) {
  Pace restless(pace_of_turns(0.05));
  const Played played = play(restless, {.cost = 0.04}, 3000, [](int step, Plant& plant) {
    plant.alone = step % 10 == 0 || step % 10 == 1 ? 0.14 : 0.1;
  });
  const std::vector<double> shares = without_probes(played.shares);
  EXPECT_EQ(shares.front(), 0.35);
  for (const double share : shares) EXPECT_GE(share, 0.35);
  EXPECT_GE(shares.back(), 0.7);
  Pace fits(pace_of_turns(0.05));
  play(fits, {.cost = 0.06}, 3000);
  EXPECT_LE(fits.slowdown().median, 0.05);
  EXPECT_GE(fits.slowdown().median, 0.03);
  EXPECT_EQ(fits.num_rests(), 0);
}

// To change from one to the other takes 3.6 % of a step, of 5: there is still a little to give.
TEST(Pace, TurnsLeaveRoomForTheChange) {
  Pace pace(pace_of_turns(0.05));
  const Played played = play(pace, {.cost = 0.0325, .noise = 0.002, .toll = 0.036}, 6000);
  EXPECT_LT(without_probes(played.shares).back(), 0.35);
  EXPECT_GE(without_probes(played.shares).back(), 0.25);
  EXPECT_TRUE(pace.slowdown().held(0.05)) << pace.slowdown().p99;
  EXPECT_EQ(pace.num_rests(), 0);
}

// 5.5 %: there is nothing to give. It is tried, and again now and then.
TEST(Pace, TurnsThatCostTooMuchAreRare) {
  Pace pace(pace_of_turns(0.05));
  const Played played =
      play(pace, {.cost = 0.0325, .noise = 0.002, .toll = 0.055, .present = true}, 100'000);
  EXPECT_TRUE(pace.slowdown().held(0.05)) << pace.slowdown().p99;
  EXPECT_GE(pace.num_rests(), 4);
  EXPECT_LE(pace.num_rests(), 7);
  EXPECT_GT(without_probes(tail(played.shares, 20'000)).size(), 0U);
}

// One step in ten slows down three times as much as the others: the median alone would be within
// the bound at a share of one.
TEST(Pace, TurnsAreCutWhereFewStepsSufferMore) {
  Pace pace(pace_of_turns(0.05));
  const std::vector<double> shares =
      without_probes(play(pace, {.noise = 0}, 3000, [](int step, Plant& plant) {
                       plant.cost = step % 10 == 0 ? 0.09 : 0.03;
                     }).shares);
  EXPECT_LT(shares.back(), 0.56);
  EXPECT_TRUE(pace.slowdown().held(0.05)) << pace.slowdown().p99;
}

// A step with a job that could have run does not count as without background, even if nothing ran
// in it.
TEST(Pace, AGuestThatCouldNotRunIsPresent) {
  Pace pace(pace_of_turns(0.05));
  for (int i = 0; i < 18; ++i) pace.step(1.0, 0);
  ASSERT_GT(pace.share(), 0);
  pace.step(1.03, 0, true);
  EXPECT_EQ(pace.slowdown().num_shared, 1);
  EXPECT_EQ(pace.slowdown().num_alone, 16);
  pace.step(1.0, 0);
  EXPECT_EQ(pace.slowdown().num_alone, 17);
}

// The step in which the background is stopped counts for nothing.
TEST(Pace, MixedStepsAreLeftOut) {
  Pace pace({.warmup_steps = 0, .alone_steps = 4});
  pace.step(5.0, 0.4);
  for (int i = 0; i < 4; ++i) pace.step(1.0, 0);
  EXPECT_EQ(pace.alone(), 1.0);
  EXPECT_EQ(pace.slowdown().num_alone, 4);
  EXPECT_EQ(pace.slowdown().num_shared, 0);
}

TEST(Slowdown, IsHeldAgainstTheForegroundsOwnUnrest) {
  const Slowdown restless{.median = 0.03, .p99 = 0.14, .alone_p99 = 0.1};
  EXPECT_TRUE(restless.held(0.05));
  EXPECT_FALSE(restless.held(0.02));
  EXPECT_FALSE((Slowdown{.median = 0.03, .p99 = 0.14, .alone_p99 = 0.01}.held(0.05)));
}

TEST(Slowdown, MeanIsOfAllStepsAgainstAllAlone) {
  Pace pace(pace_of_turns(0.05));
  for (int i = 0; i < 18; ++i) pace.step(1.0, 0);
  for (int i = 0; i < 30; ++i) pace.step(i == 7 ? 2.5 : 1.0, i == 7 ? 0.5 : 0, true);
  EXPECT_NEAR(pace.slowdown().mean, 0.05, 1e-9);
  EXPECT_EQ(pace.slowdown().median, 0);
}

TEST(Quantile, InterpolatesBetweenNeighbours) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantile({1, 2}, 1), 2);
}

}  // namespace
}  // namespace nereus::launch::pace_test
