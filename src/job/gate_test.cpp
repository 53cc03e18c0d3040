// One side opens the gate, the other reads it: the time granted is the time given.
#include "job/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"

namespace nereus::job::gate_test {
namespace {

using ::testing::AllOf, ::testing::Contains, ::testing::Not;

constexpr std::int64_t kMs = 1'000'000;

class GateTest : public ::testing::Test {
 protected:
  std::string file() const { return folder_ / "gate"; }

 private:
  TemporaryFolder folder_;
};

TEST_F(GateTest, IsOneForAllWhoOpenIt) {
  const Gate gate = Gate::make(file());
  const Gate other(file());
  EXPECT_EQ(other.page().open_until, kAlways);
  other.page().grant = 7;
  EXPECT_EQ(gate.page().grant, 7);
  // The memory outlives its name.
  std::filesystem::remove(file());
  gate.page().grant = 8;
  EXPECT_EQ(other.page().grant, 8);
}

TEST_F(GateTest, WhatIsNoGateIsSaid) {
  EXPECT_EQ(testing::codes_of([&] { Gate gate(file()); }), std::vector<std::string>{"job.gate"});
  std::ofstream(file()) << "short";
  EXPECT_EQ(testing::codes_of([&] { Gate gate(file()); }), std::vector<std::string>{"job.gate"});
  EXPECT_EQ(testing::codes_of([&] { Gate::make(file()); }), std::vector<std::string>{"job.gate"});
}

TEST_F(GateTest, IsClosedDuringStepsAndOpenForGoodAfterTheLast) {
  const Gate gate = Gate::make(file());
  {
    GateHost host(gate);
    EXPECT_EQ(gate.page().open_until, kAlways);  // until the first step
    host.close();
    EXPECT_EQ(gate.page().open_until, 0);
  }
  EXPECT_EQ(gate.page().open_until, kAlways);
}

// A foreground that is measured without background grants nothing: it waits as long, and no piece
// enters.
TEST_F(GateTest, NothingGrantedNothingOpened) {
  const Gate gate = Gate::make(file());
  GateHost host(gate);
  host.close();
  gate.page().wanted = kMs;
  gate.page().most_yield = 100 * kMs;
  EXPECT_GE(host.give_way(0.002), 0.002);
  EXPECT_EQ(gate.page().open_until, 0);
  host.open_for(1);
  EXPECT_EQ(gate.page().open_until, 0);
}

// What others see: the longest time for which the gate announced to be open.
std::int64_t longest_seen(GateHost& host, const Gate& gate, double gap) {
  std::atomic<bool> done = false;
  std::int64_t longest = 0;
  std::thread looker([&] {
    while (!done) longest = std::max(longest, gate.page().open_until - gate_now());
  });
  host.give_way(gap);
  done = true;
  looker.join();
  return longest;
}

TEST_F(GateTest, AWaitIsOpenForWhatIsGrantedOfIt) {
  const Gate gate = Gate::make(file());
  GateHost host(gate);
  host.close();
  gate.page().grant = 20 * kMs;
  const std::int64_t seen = longest_seen(host, gate, 0.05);
  EXPECT_GT(seen, 0);
  EXPECT_LE(seen, 20 * kMs);
  EXPECT_EQ(gate.page().open_until, 0);
}

TEST_F(GateTest, MoreThanTheWaitOnlyForAPieceThatWaitsAndFits) {
  const Gate gate = Gate::make(file());
  GateHost host(gate);
  host.close();
  gate.page().grant = 1000 * kMs;
  gate.page().most_yield = 30 * kMs;
  EXPECT_LE(longest_seen(host, gate, 0), 0);  // nobody waits
  gate.page().wanted = 10 * kMs;
  EXPECT_GE(host.give_way(0), 0.030);
  EXPECT_GE(host.give_way(0.01), 0.040);
  gate.page().grant = 12 * kMs;  // of which 10 are waited anyway
  const double gave = host.give_way(0.01);
  EXPECT_GE(gave, 0.012);
  gate.page().wanted = 1000 * kMs;  // a longer one than there is room for
  EXPECT_LE(longest_seen(host, gate, 0), 0);
}

TEST_F(GateTest, WaitsWithinAStepShareItsGrant) {
  const Gate gate = Gate::make(file());
  GateHost host(gate);
  host.close();
  gate.page().grant = 100 * kMs;
  host.open_for(0.08);
  EXPECT_GT(gate.page().open_until, 0);
  host.close();
  host.open_for(0.08);
  EXPECT_LE(gate.page().open_until, gate_now() + 20 * kMs);
  host.close();
  host.open_for(0.08);
  EXPECT_EQ(gate.page().open_until, 0);
  host.give_way(0);
  host.open_for(0.08);  // the next step's
  EXPECT_GT(gate.page().open_until, 0);
}

// The steps of two turns' time that took longer than `seconds`. Others may be late for reasons of
// their own.
std::vector<std::int64_t> longer_steps(GateHost& host, double seconds) {
  std::vector<std::int64_t> when;
  for (std::int64_t step = 1; step <= 2 * GateHost::kStepsPerTurn; ++step)
    if (host.give_way(0) > seconds) when.push_back(step);
  return when;
}

constexpr std::int64_t kSecondTurn = GateHost::kFirstTurn + GateHost::kStepsPerTurn;

TEST_F(GateTest, OneStepInManyGivesForAll) {
  const Gate gate = Gate::make(file());
  GateHost host(gate);
  host.close();
  gate.page().grant = gate.page().long_yield = kMs / 100;
  EXPECT_THAT(longer_steps(host, 0.001), Not(Contains(GateHost::kFirstTurn)));  // nobody waits
  gate.page().wanted = kMs / 10;
  const std::vector<std::int64_t> when = longer_steps(host, 0.001);
  EXPECT_THAT(when, Contains(GateHost::kFirstTurn));  // after 320 hundredths
  EXPECT_THAT(when, Contains(kSecondTurn));
  EXPECT_LE(when.size(), 20U);
  EXPECT_EQ(gate.page().num_too_long, 0);
  gate.page().grant = 0;  // the foreground is measured alone
  EXPECT_THAT(longer_steps(host, 0.001), Not(Contains(GateHost::kFirstTurn)));
}

TEST_F(GateTest, ATurnThatFallsIntoStepsAloneComesSoonAfter) {
  const Gate gate = Gate::make(file());
  GateHost host(gate);
  host.close();
  gate.page().long_yield = kMs / 100;
  gate.page().wanted = kMs / 10;
  std::vector<std::int64_t> when;
  for (std::int64_t step = 1; step <= GateHost::kStepsPerTurn; ++step) {
    const bool alone = step > GateHost::kFirstTurn - 8 && step < GateHost::kFirstTurn + 8;
    gate.page().grant = alone ? 0 : kMs / 100;
    if (host.give_way(0) > 0.003) when.push_back(step);
  }
  EXPECT_THAT(when, Contains(GateHost::kFirstTurn + GateHost::kNextTry));
  EXPECT_THAT(when, Not(Contains(GateHost::kFirstTurn)));
  EXPECT_LE(when.size(), 10U);
}

TEST_F(GateTest, APieceLongerThanStepsMayGiveWaitsUntilTheyGaveEnough) {
  const Gate gate = Gate::make(file());
  GateHost host(gate);
  host.close();
  gate.page().grant = gate.page().most_yield = kMs / 100;
  gate.page().wanted = 3 * kMs;
  const std::vector<std::int64_t> when = longer_steps(host, 0.003);
  EXPECT_THAT(when, Contains(GateHost::kFirstTurn));  // 320 hundredths
  EXPECT_THAT(when, Contains(kSecondTurn));
  EXPECT_EQ(gate.page().num_too_long, 2 * GateHost::kStepsPerTurn - 2);
  EXPECT_EQ(gate.page().longest, 3 * kMs);
  gate.page().wanted = 10 * kMs;  // 704 and 320 hundredths are 10.24
  EXPECT_THAT(longer_steps(host, 0.01), Contains(GateHost::kFirstTurn));
  gate.page().wanted = 20 * kMs;  // more than they ever save
  EXPECT_THAT(longer_steps(host, 0.02),
              AllOf(Not(Contains(GateHost::kFirstTurn)), Not(Contains(kSecondTurn))));
}

// A rank that watches continues as soon as no other piece fits, but not while a piece is running,
// and never before its wait is over.
TEST_F(GateTest, GoesOnWhereNothingElseFits) {
  const Gate gate = Gate::make(file());
  GateHost host(gate, true);
  host.close();
  gate.page().grant = 1000 * kMs;
  gate.page().most_yield = 300 * kMs;
  gate.page().wanted = kMs;
  std::atomic<std::int64_t> busy = 0;
  std::atomic<bool> there = false, done = false;
  std::thread guest([&] {
    for (std::uint32_t last = gate.page().num_openings; !done; there = true) {
      const std::uint32_t seen = gate.page().num_openings;
      if (seen == last) {
        std::this_thread::yield();
        continue;
      }
      last = seen;
      gate.page().free_at = gate_now() + busy;
      gate.page().declined = seen;
    }
  });
  while (!there) std::this_thread::yield();
  EXPECT_LT(host.give_way(0), 0.2);
  busy = 50 * kMs;
  const double gave = host.give_way(0);
  EXPECT_GE(gave, 0.05);
  EXPECT_LT(gave, 0.25);
  busy = 0;
  EXPECT_GE(host.give_way(0.04), 0.04);
  done = true;
  guest.join();
}

TEST_F(GateTest, ANewGuestHasTheDeviceOnceUntilItKnowsItsPieces) {
  const Gate gate = Gate::make(file());
  GateHost host(gate);
  host.close();
  gate.page().guest = Guest::kNew;
  host.give_way(0);  // the foreground is measured alone just now
  EXPECT_EQ(gate.page().guest, Guest::kNew);
  gate.page().grant = kMs;
  std::atomic<bool> was_open = false;
  std::thread guest([&] {
    while (gate.page().open_until == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    was_open = gate.page().open_until > gate_now();
    gate.page().guest = Guest::kKnown;
  });
  const std::int64_t start = gate_now();
  host.give_way(0);
  EXPECT_GE(gate_now() - start, 30 * kMs);
  guest.join();
  EXPECT_TRUE(was_open);
  EXPECT_EQ(gate.page().open_until, 0);
  EXPECT_LE(longest_seen(host, gate, 0), 0);  // once
}

}  // namespace
}  // namespace nereus::job::gate_test
