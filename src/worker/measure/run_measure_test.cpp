#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "worker/measure/measure_links.hpp"
#include "worker/measure/timed_call.hpp"
#include "worker/worker_testing.hpp"

namespace nereus::worker {
namespace {

using testing::make_job;
using testing::reader_of;
using testing::small_gpt;

plan::Degrees one_rank(int samples) {
  plan::Degrees degrees;
  degrees.micro_batch = degrees.global_batch = samples;
  degrees.precision = cluster::Precision::kFp32;
  return degrees;
}

TEST(TimedCall, ACallTakesNoLessThanItSleeps) {
  int calls = 0;
  TimedCall call(
      at::Device(at::kCPU),
      [&] {
        ++calls;
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      },
      0.003);
  const int before = calls;
  EXPECT_GE(call.repeat(), 5e-4);
  EXPECT_GE(calls - before, 1);
}

TEST(LayerClock, CountsEveryLayerInsideTheStepAndChangesNothing) {
  const job::Job job = make_job(small_gpt(), one_rank(2));
  const auto comms = open_local_comms("shared", 1, std::chrono::seconds(60));
  Executor plain(job, *comms[0], reader_of(job.plan.model));
  Executor watched(job, *comms[0], reader_of(job.plan.model));
  LayerClock clock(at::Device(at::kCPU), job.plan.model.num_layers());
  watched.layer_clock = &clock;
  for (int step = 0; step < 2; ++step) {
    const StepResult result = watched.run(step);
    EXPECT_EQ(result.loss, plain.run(step).loss);
    clock.settle();
    double sum = clock.seconds(0, LayerClock::kUpdate);
    EXPECT_GT(sum, 0);
    for (int layer = 0; layer < job.plan.model.num_layers(); ++layer)
      for (const auto what : {LayerClock::kForward, LayerClock::kBackward}) {
        EXPECT_GT(clock.seconds(layer, what), 0) << layer;
        sum += clock.seconds(layer, what);
      }
    EXPECT_LE(sum, result.seconds);
  }
}

// Cut off after its last pass, a step has the same gradients as a whole step before its update; cut
// off anywhere, it does not change the weights.
TEST(RunCut, AllPassesAreAStepWithoutItsUpdate) {
  const job::Job job = make_job(small_gpt(), one_rank(2));
  const auto comms = open_local_comms("shared", 1, std::chrono::seconds(60));
  Executor whole(job, *comms[0], reader_of(job.plan.model));
  Executor cut(job, *comms[0], reader_of(job.plan.model));
  const int passes = 2 * job.plan.model.num_layers();
  for (const int count : {0, 1, passes - 1, passes}) cut.run_cut(count);
  whole.before_update = [&] {
    for (std::size_t i = 0; i < whole.states().size(); ++i) {
      EXPECT_TRUE(at::equal(whole.states()[i]->gradients(), cut.states()[i]->gradients())) << i;
      EXPECT_TRUE(at::equal(whole.states()[i]->own_master(), cut.states()[i]->own_master())) << i;
    }
  };
  whole.run(0);
}

TEST(Links, EveryPairAndRingIsThereOnEveryRank) {
  constexpr int kRanks = 3;
  auto comms = open_local_comms("shared", kRanks, std::chrono::seconds(60));
  std::vector<std::vector<profile::RankLink>> links(kRanks);
  std::vector<std::vector<profile::Collective>> collectives(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      const auto at = static_cast<std::size_t>(rank);
      Links own(*comms[at], at::Device(at::kCPU), true);
      EXPECT_EQ(own.num_hosts(), 1);
      EXPECT_EQ(own.mean({static_cast<double>(rank)}).front(), 1);
      links[at] = own.measure_pairs([](const std::string&) {});
      collectives[at] = own.measure_collectives([](const std::string&) {});
    });
  for (std::thread& thread : threads) thread.join();
  std::set<std::pair<int, int>> pairs;
  for (const profile::RankLink& link : links[0]) {
    pairs.insert({link.from, link.to});
    EXPECT_TRUE(link.same_host);
    EXPECT_GT(link.seconds.median, 0);
  }
  EXPECT_EQ(pairs, (std::set<std::pair<int, int>>{{0, 1}, {0, 2}, {1, 2}}));
  std::set<int> rings;
  for (const profile::Collective& own : collectives[0]) {
    rings.insert(own.ranks);
    EXPECT_GT(own.seconds.median, 0) << own.kind;
  }
  EXPECT_EQ(rings, (std::set<int>{2, 3}));
  for (int rank = 1; rank < kRanks; ++rank) {
    EXPECT_EQ(links[rank], links[0]);
    EXPECT_EQ(collectives[rank], collectives[0]);
  }
}

}  // namespace
}  // namespace nereus::worker
