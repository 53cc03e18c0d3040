#include "worker/comm/watchdog.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace nereus::worker {
namespace {

using namespace std::chrono_literals;

struct FakeWait : Watched {
  FakeWait(std::string what, int from) : name(std::move(what)), peer(from) {}
  bool is_reached() override { return reached; }
  bool is_done() override { return done; }
  void settle() override { ++num_settled; }
  std::string what() const override { return name; }
  Liveness::Failure failure() const override { return {peer, 0, {}}; }
  const std::string name;
  const int peer;
  std::atomic<bool> reached = false, done = false;
  std::atomic<int> num_settled = 0;
};

// Two ranks of this process; rank 0 has the watchdog.
class WatchdogTest : public ::testing::Test {
 protected:
  WatchdogTest() : own(0, 2, "127.0.0.1", kTimeout), other(make_other()) {
    const std::vector<std::string> addresses = {own.address(), other->address()};
    own.start(addresses);
    other->start(addresses);
  }
  static std::unique_ptr<Liveness> make_other() {
    return std::make_unique<Liveness>(1, 2, "127.0.0.1", kTimeout);
  }
  std::shared_ptr<FakeWait> add(const std::string& name, const void* own_stream) {
    auto wait = std::make_shared<FakeWait>(name, 1);
    watchdog.add(own_stream, wait);
    return wait;
  }
  bool fails_within(std::chrono::milliseconds longest) {
    const auto end = std::chrono::steady_clock::now() + longest;
    while (!watchdog.has_failed() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(1ms);
    return watchdog.has_failed();
  }
  CommError error() {
    try {
      watchdog.check();
    } catch (const CommError& thrown) {
      return thrown;
    }
    return {"nothing was thrown", -2};
  }

  static constexpr std::chrono::milliseconds kTimeout = 600ms;  // the window is 200 ms
  Liveness own;
  std::unique_ptr<Liveness> other;
  std::atomic<int> num_aborts = 0;
  std::mutex mutex;
  std::string connections;  // what they report
  Watchdog watchdog{own,
                    kTimeout,
                    {[this] {
                       const std::lock_guard lock(mutex);
                       return connections;
                     },
                     [this] { ++num_aborts; }}};
  int stream = 0, second_stream = 0;
};

TEST_F(WatchdogTest, NamesTheRankThatDied) {
  const auto wait = add("receive of tag 3 from rank 1", &stream);
  wait->reached = true;
  other.reset();
  ASSERT_TRUE(fails_within(5s));
  EXPECT_EQ(error().missing_rank, 1);
  EXPECT_NE(std::string(error().what()).find("receive of tag 3 from rank 1 failed"),
            std::string::npos)
      << error().what();
  EXPECT_EQ(num_aborts, 1);
}

// The time starts when the stream gets to the wait: before that it computes, as long as it takes.
TEST_F(WatchdogTest, AStreamThatComputesIsNotStuck) {
  const auto wait = add("all-reduce", &stream);
  EXPECT_FALSE(fails_within(3 * kTimeout));
  wait->reached = true;
  EXPECT_FALSE(fails_within(kTimeout / 2));
  EXPECT_TRUE(fails_within(5s));
}

// Each operation has its own time.
TEST_F(WatchdogTest, SlowProgressIsNoFailure) {
  std::vector<std::shared_ptr<FakeWait>> waits;
  for (int i = 0; i < 6; ++i) waits.push_back(add("all-reduce " + std::to_string(i), &stream));
  for (const auto& wait : waits) {
    wait->reached = true;
    ASSERT_FALSE(fails_within(kTimeout / 2));
    wait->done = true;
  }
  watchdog.settle();
  for (const auto& wait : waits) EXPECT_EQ(wait->num_settled, 1);
  EXPECT_FALSE(fails_within(2 * kTimeout));
  EXPECT_NO_THROW(watchdog.check());
}

TEST_F(WatchdogTest, OneStreamDoesNotHideAnother) {
  add("behind computing", &stream);
  const auto stuck = add("send of tag 1 to rank 1", &second_stream);
  stuck->reached = true;
  ASSERT_TRUE(fails_within(5s));
  EXPECT_NE(std::string(error().what()).find("send of tag 1"), std::string::npos);
}

TEST_F(WatchdogTest, WhatAnotherRankFoundOrConnectionsReportEndsAWaitAtOnce) {
  {
    const std::lock_guard lock(mutex);
    connections = "remote process exited";
  }
  EXPECT_FALSE(fails_within(kTimeout / 3));  // nobody waits: it may have left after the last step
  const auto wait = add("receive of tag 3 from rank 1", &stream);
  wait->reached = true;
  ASSERT_TRUE(fails_within(kTimeout - 50ms));  // the window to look for who is missing, no time-out
  EXPECT_NE(std::string(error().what()).find("remote process exited"), std::string::npos);
}

// The host may be held up before it waits for what it has started.
TEST_F(WatchdogTest, AnOperationThatNothingWaitsForYetIsEndedToo) {
  const auto done = std::make_shared<FakeWait>("receive of tag 1 from rank 1", 1);
  const auto begun = std::make_shared<FakeWait>("receive of tag 2 from rank 1", 1);
  done->done = true;
  watchdog.begin(&stream, done);
  {
    const std::lock_guard lock(mutex);
    connections = "remote process exited";
  }
  EXPECT_FALSE(fails_within(kTimeout / 3));
  watchdog.begin(&stream, begun);
  ASSERT_TRUE(fails_within(5s));
  EXPECT_NE(std::string(error().what()).find("receive of tag 2"), std::string::npos);
  EXPECT_EQ(num_aborts, 1);
}

TEST_F(WatchdogTest, ToldToEndItThrowsAtOnce) {
  const auto wait = add("receive of tag 3 from rank 1", &stream);
  wait->reached = true;
  watchdog.stop();
  EXPECT_TRUE(watchdog.has_failed());
  EXPECT_EQ(num_aborts, 1);
  EXPECT_THROW(watchdog.check(), CommError);
  watchdog.fail("later", {}, "later");
  EXPECT_EQ(num_aborts, 1);
  EXPECT_EQ(std::string(error().what()).find("later"), std::string::npos);
}

}  // namespace
}  // namespace nereus::worker
