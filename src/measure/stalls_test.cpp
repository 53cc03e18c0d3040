#include "measure/stalls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/error.hpp"

namespace nereus::measure::stalls_test {
namespace {

using job::Block;

// What a machine would do, in seconds of a step.
struct Truth {
  int ranks = 2;
  int ranks_of_host = 2;
  double work = 0.1;
  double contention = 0, straggler = 0, interconnect = 0, network = 0, prepare = 0, fetch = 0;
  double operation = 3e-6;
  bool files = true;
  double noise = 0;  // of a block, as a share of its time
  double drift = 0;  // of all blocks from round to round, so too
};

std::vector<BlockTime> measured(const Truth& truth, int rounds, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<BlockTime> times;
  for (int round = 0; round < rounds; ++round) {
    const double slow = 1 + truth.drift * round;
    const auto put = [&](Block block, const std::function<double(int)>& seconds) {
      double slowest = 0;
      std::vector<BlockTime> ranks;
      for (int rank = 0; rank < truth.ranks; ++rank) {
        BlockTime time{.block = block,
                       .round = round,
                       .rank = rank,
                       .host = rank / truth.ranks_of_host,
                       .seconds = seconds(rank) * slow * (1 + truth.noise * normal(random)),
                       .count = 1000};
        slowest = std::max(slowest, time.seconds);
        if (block == Block::kCold) time.bytes = 1e6;
        ranks.push_back(time);
      }
      for (BlockTime& time : ranks) time.slowest = slowest;
      times.insert(times.end(), ranks.begin(), ranks.end());
    };
    const auto own = [&](int rank) {
      return truth.work + (rank == truth.ranks - 1 ? truth.straggler : 0);
    };
    double all = truth.work;
    put(Block::kAlone, own);
    if (truth.ranks > 1) {
      put(Block::kTogether, [&](int rank) { return own(rank) + truth.contention; });
      all += truth.contention + truth.straggler;
      if (truth.ranks_of_host > 1) {
        all += truth.interconnect;
        if (truth.ranks_of_host < truth.ranks) put(Block::kHost, [&](int) { return all; });
      }
      all += truth.network;
    }
    put(Block::kAll, [&](int) { return all; });
    put(Block::kWarm, [&](int) { return all + truth.prepare; });
    if (truth.files) put(Block::kCold, [&](int) { return all + truth.prepare + truth.fetch; });
    put(Block::kLaunch, [&](int) { return truth.operation; });
  }
  return times;
}

double seconds_of(const StallReport& report, StallKind kind) { return report.of(kind).seconds; }

TEST(Stalls, AreTheDifferencesOfBlocks) {
  Truth truth{.ranks = 4, .ranks_of_host = 2};
  truth.contention = 0.01;
  truth.straggler = 0.02;
  truth.interconnect = 0.03;
  truth.network = 0.05;
  truth.prepare = 0.07;
  truth.fetch = 0.11;
  truth.drift = 0.1;
  // A drift that lengthens all blocks of a round alike lengthens the differences by its mean.
  const double drift = 1 + truth.drift * 3.5;
  const StallReport report = find_stalls(measured(truth, 8, 1));
  EXPECT_NEAR(report.alone_s, 0.1 * drift, 1e-12);
  EXPECT_NEAR(seconds_of(report, StallKind::kLaunch), 3e-3 * drift, 1e-12);
  EXPECT_NEAR(seconds_of(report, StallKind::kContention), 0.01 * drift, 1e-12);
  EXPECT_NEAR(seconds_of(report, StallKind::kStraggler), 0.02 * drift, 1e-12);
  EXPECT_EQ(report.of(StallKind::kStraggler).rank, 3);
  EXPECT_NEAR(seconds_of(report, StallKind::kInterconnect), 0.03 * drift, 1e-12);
  EXPECT_NEAR(seconds_of(report, StallKind::kNetwork), 0.05 * drift, 1e-12);
  EXPECT_NEAR(seconds_of(report, StallKind::kPrepare), 0.07 * drift, 1e-12);
  EXPECT_NEAR(seconds_of(report, StallKind::kFetch), 0.11 * drift, 1e-12);
  EXPECT_FALSE(report.of(StallKind::kHostCopy).measured);
  EXPECT_EQ(report.num_hosts, 2);
  EXPECT_EQ(report.bytes_from_storage, 4e6);
  double sum = report.alone_s;
  for (const Stall& stall : report.stalls)
    if (stall.kind != StallKind::kLaunch) sum += stall.seconds;
  EXPECT_NEAR(sum, report.step_s, 1e-12);
}

TEST(Stalls, SayWhatWasNotMeasured) {
  Truth one{.ranks = 1, .ranks_of_host = 1, .files = false};
  const StallReport report = find_stalls(measured(one, 4, 1));
  EXPECT_EQ(report.of(StallKind::kContention).note, "one rank");
  EXPECT_EQ(report.of(StallKind::kNetwork).note, "one rank");
  EXPECT_EQ(report.of(StallKind::kFetch).note, "samples do not come from files");
  Truth apart{.ranks = 2, .ranks_of_host = 1};
  apart.network = 0.05;
  const StallReport wide = find_stalls(measured(apart, 4, 1));
  EXPECT_FALSE(wide.of(StallKind::kInterconnect).measured);
  EXPECT_NEAR(seconds_of(wide, StallKind::kNetwork), 0.05, 1e-12);
}

TEST(Stalls, RoundsThatAreNotWholeDoNotCount) {
  std::vector<BlockTime> times = measured({}, 3, 1);
  times.pop_back();
  EXPECT_EQ(find_stalls(times).rounds, 2);
  times.resize(times.size() / 2);
  EXPECT_THROW(find_stalls(times), Errors);
  EXPECT_THROW(find_stalls({}), Errors);
}

TEST(Stalls, ANegativeDifferenceStaysOne) {
  Truth truth{};
  truth.prepare = -0.02;
  const Stall stall = find_stalls(measured(truth, 8, 1)).of(StallKind::kPrepare);
  EXPECT_NEAR(stall.seconds, -0.02, 1e-12);
  EXPECT_FALSE(stall.significant);
}

// The promise of the intervals: in 95 of 100 measurements all of them hold at once, and of nothing
// nothing is made. 400 measurements of 5 % noise; binomial deviation 1.1 %. Straggler and what
// follows it hold the wait for whichever rank happens to be later, which is real: its mean is taken
// from many rounds.
TEST(Stalls, IntervalsHoldTogether) {
  Truth truth{};
  truth.noise = 0.02;
  truth.prepare = 0.03;
  truth.fetch = 0.04;
  const StallReport many = find_stalls(measured(truth, 20000, 99));
  int held = 0, alarms = 0;
  constexpr int kMeasurements = 400;
  for (std::uint32_t seed = 0; seed < kMeasurements; ++seed) {
    const StallReport report = find_stalls(measured(truth, 8, seed));
    bool all = true;
    for (const Stall& stall : report.stalls)
      if (stall.measured) {
        const double expected = many.of(stall.kind).seconds;
        all = all && stall.low <= expected && expected <= stall.high;
      }
    held += all;
    alarms += report.of(StallKind::kContention).significant;
    EXPECT_TRUE(report.of(StallKind::kPrepare).significant) << seed;
    EXPECT_TRUE(report.of(StallKind::kFetch).significant) << seed;
  }
  EXPECT_GE(held, kMeasurements * 93 / 100);
  EXPECT_LE(alarms, kMeasurements * 2 / 100);
}

}  // namespace
}  // namespace nereus::measure::stalls_test
