// A job that takes turns: its results are those of a job with the device to itself, and it computes
// only while the gate is open.
#include "worker/state/pieces.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/temporary_folder.hpp"
#include "worker/run/device_turns.hpp"
#include "worker/worker_testing.hpp"

namespace nereus::worker {
namespace {

using testing::make_job;
using testing::reader_of;
using testing::small_gpt;
using Kind = Pieces::Kind;

constexpr std::int64_t kMs = 1'000'000;

class PiecesTest : public ::testing::Test {
 protected:
  PiecesTest() { gate_.emplace(job::Gate::make(file())); }
  std::string file() const { return folder_ / "gate-0"; }
  std::string folder() const { return folder_.path(); }
  job::GatePage& page() { return gate_->page(); }
  void open_for(std::int64_t time) { gate_->open(job::gate_now() + time); }

 private:
  TemporaryFolder folder_;
  std::optional<job::Gate> gate_;
};

plan::Degrees one_rank(int micro_batch, int samples) {
  plan::Degrees degrees;
  degrees.micro_batch = micro_batch;
  degrees.global_batch = samples;
  degrees.precision = cluster::Precision::kFp32;
  return degrees;
}

void take(Pieces& pieces, Pieces::Key key, std::chrono::milliseconds time) {
  const Pieces::Turn turn(&pieces, key);
  std::this_thread::sleep_for(time);
}

TEST_F(PiecesTest, WhatAPieceTakesIsLearned) {
  using namespace std::chrono_literals;
  Pieces pieces(file(), at::Device(at::kCPU));
  const Pieces::Key key = Pieces::key(3, Kind::kForward);
  EXPECT_EQ(pieces.seconds(key), 0);
  take(pieces, key, 300ms);
  EXPECT_GE(pieces.seconds(key), 0.3);
  take(pieces, key, 2ms);  // the very first does not count then
  EXPECT_GE(pieces.seconds(key), 0.002);
  EXPECT_LT(pieces.seconds(key), 0.3);
  take(pieces, key, 300ms);  // of the others the second longest: one may have been disturbed
  EXPECT_LT(pieces.seconds(key), 0.3);
  take(pieces, key, 300ms);
  EXPECT_GE(pieces.seconds(key), 0.3);
  EXPECT_EQ(pieces.seconds(Pieces::key(3, Kind::kBackward)), 0);
  EXPECT_EQ(page().num_pieces, 4);
  EXPECT_EQ(page().num_late, 0);
  EXPECT_GE(page().used, 902 * kMs);
}

TEST_F(PiecesTest, OneInsideAnotherIsPartOfIt) {
  using namespace std::chrono_literals;
  Pieces pieces(file(), at::Device(at::kCPU));
  {
    const Pieces::Turn turn(&pieces, 1);
    page().open_until = 0;
    take(pieces, 2, 1ms);
  }
  EXPECT_EQ(page().num_pieces, 1);
  EXPECT_EQ(page().num_late, 0);  // it entered when it might take all the time there is
}

TEST_F(PiecesTest, WaitsUntilItCanBeDoneBeforeTheGateCloses) {
  using namespace std::chrono_literals;
  Pieces pieces(file(), at::Device(at::kCPU));
  for (int i = 0; i < 2; ++i) take(pieces, 1, 5ms);
  page().open_until = 0;
  std::atomic<bool> ran = false;
  std::thread guest([&] {
    take(pieces, 1, 1ms);
    ran = true;
  });
  while (page().wanted == 0) std::this_thread::yield();
  EXPECT_GE(page().wanted, 5 * kMs);
  open_for(2 * kMs);  // too short
  std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(ran);
  open_for(10'000 * kMs);
  guest.join();
  EXPECT_TRUE(ran);
  EXPECT_EQ(page().wanted, 0);
}

TEST_F(PiecesTest, AJobThatIsToEndWaitsForNobody) {
  bool ends = false;
  Pieces pieces(file(), at::Device(at::kCPU), [&] { return ends; });
  page().open_until = 0;
  ends = true;
  { const Pieces::Turn turn(&pieces, 1); }
  EXPECT_EQ(page().num_pieces, 1);
}

// Two micro-batches, with recompute and clipping, so that all kinds of pieces are there.
TEST_F(PiecesTest, ATrainingInTurnsIsTheSameToTheBit) {
  plan::Degrees degrees = one_rank(2, 4);
  degrees.recompute = plan::Recompute::kFull;
  job::Job job = make_job(small_gpt(), degrees);
  job.training.clip = 0.1;
  const auto comms = open_local_comms("shared", 1, std::chrono::seconds(60));
  Executor plain(job, *comms[0], reader_of(job.plan.model));
  Executor in_turns(job, *comms[0], reader_of(job.plan.model));
  Pieces pieces(file(), at::Device(at::kCPU));
  in_turns.pieces = &pieces;
  std::atomic<bool> done = false;
  std::thread host([&] {
    while (!done) {
      page().open_until = 0;
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      open_for(500 * kMs);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  for (int step = 0; step < 4; ++step) {
    const StepResult a = plain.run(step), b = in_turns.run(step);
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.gradient_norm, b.gradient_norm);
  }
  done = true;
  host.join();
  const int layers = job.plan.model.num_layers();
  EXPECT_GE(page().num_pieces, 4 * layers * (2 * 2 + 1));
  for (int layer = 0; layer < layers; ++layer)
    for (const Kind kind : {Kind::kForward, Kind::kBackward, Kind::kUpdate})
      EXPECT_GT(pieces.seconds(Pieces::key(layer, kind)), 0) << layer;
}

// A foreground of two ranks, the second of which is slow: the first lets others in while it waits.
TEST_F(PiecesTest, WaitsOpenTheGate) {
  plan::Degrees degrees = one_rank(1, 2);
  degrees.dp = 2;
  job::Job job = make_job(small_gpt(), degrees);
  job.sharing.gates = folder();
  page().grant = 10'000 * kMs;
  const auto comms = open_local_comms("shared", 2, std::chrono::seconds(60));
  std::atomic<std::int64_t> opened = 0;
  std::atomic<bool> done = false;
  std::thread looker([&] {
    while (!done) {
      const std::int64_t until = page().open_until;
      if (until != 0 && until != job::kAlways) ++opened;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  constexpr int kSteps = 8;
  std::thread slow([&] {
    Executor executor(job, *comms[1], reader_of(job.plan.model));
    for (int step = 0; step < kSteps; ++step) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      executor.run(step);
    }
  });
  {
    DeviceTurns turns(job, 0, *comms[0]);
    EXPECT_EQ(turns.pieces(), nullptr);
    Executor executor(job, turns.comm(), reader_of(job.plan.model));
    executor.at_rest = turns.at_rest();
    for (int step = 0; step < kSteps; ++step) {
      turns.begin_step();
      executor.run(step);
      EXPECT_EQ(page().open_until, 0);
    }
  }
  slow.join();
  done = true;
  looker.join();
  EXPECT_GT(opened, 0);
  EXPECT_EQ(page().open_until, job::kAlways);  // the foreground has ended
}

}  // namespace
}  // namespace nereus::worker
