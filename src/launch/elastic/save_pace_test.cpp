#include "launch/elastic/save_pace.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/checkpoint_interval.hpp"

namespace nereus::launch::save_pace_test {
namespace {

// Steps of a second from `start` on, the first checkpoint asked for, waited for and written.
SavePace measured(double start) {
  SavePace pace;
  pace.begin(start);
  for (int i = 1; i <= SavePace::kFirstSteps; ++i) {
    EXPECT_FALSE(pace.is_due(start + i, false)) << i;
    pace.step(start + i, 1);
  }
  EXPECT_TRUE(pace.is_due(start + 20, false));
  pace.asked(start + 20);
  EXPECT_FALSE(pace.is_due(start + 20.2, false));  // one at a time
  pace.step(start + 21, 1.25);
  pace.copied(0.5);
  pace.copied(0.4);  // of another rank
  pace.written(start + 20.25);
  pace.written(start + 30);  // said by another rank too
  return pace;
}

TEST(SavePace, FollowsWhatWasMeasured) {
  SavePace pace = measured(0);
  const SavePace::Numbers at100 = *pace.numbers(100, false);
  EXPECT_DOUBLE_EQ(at100.cost, 0.5);
  EXPECT_DOUBLE_EQ(at100.write, 0.25);
  EXPECT_DOUBLE_EQ(at100.between, 100);
  EXPECT_DOUBLE_EQ(at100.interval, daly_interval(0.5, 100));
  EXPECT_FALSE(pace.is_due(22, false));
  EXPECT_TRUE(pace.is_due(20 + at100.interval, false));
  // As long as all goes well it saves more and more rarely; losses make it save more often.
  EXPECT_GT(pace.numbers(1000, false)->interval, at100.interval);
  for (int i = 0; i < 10; ++i) {
    pace.lost();
    if (i % 2 == 0) pace.went_back();
  }
  EXPECT_DOUBLE_EQ(pace.numbers(1000, false)->between, 200);
  EXPECT_DOUBLE_EQ(pace.numbers(1000, true)->between, 100);
  // Never more often than one can be written.
  for (int i = 0; i < 1000; ++i) pace.went_back();
  EXPECT_DOUBLE_EQ(pace.numbers(1000, false)->interval, SavePace::kWriting * 0.25);
}

// Writing beside training takes its time too.
TEST(SavePace, StepsThatTakeLongerAreACost) {
  SavePace pace;
  for (int i = 1; i <= 20; ++i) pace.step(i, 1);
  pace.asked(20);
  for (int i = 0; i < 4; ++i) pace.step(20 + 1.5 * i, 1.5);
  pace.copied(0.1);
  pace.written(26);
  EXPECT_NEAR(pace.numbers(30, false)->cost, 2, 1e-9);
  pace.asked(40);
  pace.step(41, 1);
  pace.written(41);
  EXPECT_NEAR(pace.numbers(42, false)->cost, 1, 1e-9);
}

TEST(SavePace, AsksAgainForWhatWasBrokenOff) {
  SavePace pace = measured(0);
  EXPECT_TRUE(pace.is_due(500, false));
  pace.asked(500);
  EXPECT_FALSE(pace.is_due(550, false));
  pace.broken_off();
  EXPECT_TRUE(pace.is_due(550, false));
  pace.asked(550);
  EXPECT_FALSE(pace.is_due(560, false));
  EXPECT_TRUE(pace.is_due(650, false));  // never heard of again
}

// Only differences count: a clock that is an hour or a day off says the same.
TEST(SavePace, WhatTheClockShowsDoesNotMatter) {
  for (const double off : {-3600.0, 3600.0, 86400.0}) {
    const SavePace here = measured(0), there = measured(off);
    for (double now = 24; now < 1000; now *= 1.3) {
      EXPECT_EQ(here.is_due(now, false), there.is_due(now + off, false)) << now;
      EXPECT_NEAR(here.numbers(now, false)->interval, there.numbers(now + off, false)->interval,
                  1e-6);
    }
  }
}

}  // namespace
}  // namespace nereus::launch::save_pace_test
