<<<<<<< HEAD
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "worker/measure/blocks.hpp"
#include "worker/measure/launches.hpp"
#include "worker/measure/switch_comm.hpp"
=======
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "worker/measure/links.hpp"
#include "worker/measure/timed_call.hpp"
>>>>>>> 5424982 (Worker: measure kernels, memory, links, collectives and a model's layers into a profile)
#include "worker/testing.hpp"

namespace nereus::worker {
namespace {

<<<<<<< HEAD
using job::Block;

// Four ranks on two hosts, each with the numbers rank + 1.
void on_two_hosts(const std::function<void(SwitchComm&)>& what) {
  auto comms = open_local_comms("gloo", 4, std::chrono::seconds(20));
  std::vector<std::thread> threads;
  for (auto& comm : comms)
    threads.emplace_back([&] {
      SwitchComm mine(*comm, {0, 0, 7, 7});
      what(mine);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(SwitchComm, SumsReachAsFarAsIsSaid) {
  on_two_hosts([](SwitchComm& comm) {
    const auto group = comm.group({0, 1, 2, 3});
    const auto sum = [&](Reach reach) {
      comm.reach = reach;
      at::Tensor mine = at::full({3}, comm.rank() + 1.0);
      group->all_reduce(mine)->wait();
      return mine[1].item<double>();
    };
    EXPECT_EQ(sum(Reach::kAll), 10);
    EXPECT_EQ(sum(Reach::kHost), comm.rank() < 2 ? 3 : 7);
    EXPECT_EQ(sum(Reach::kNone), comm.rank() + 1);
    EXPECT_EQ(sum(Reach::kAll), 10);
  });
}

TEST(SwitchComm, PiecesOfThoseWhoAreNotHeardAreZero) {
  on_two_hosts([](SwitchComm& comm) {
    const auto group = comm.group({3, 1, 0, 2});
    const std::vector<Range> ranges = {{0, 2}, {2, 3}, {3, 3}, {3, 6}};
    const auto gathered = [&](Reach reach) {
      comm.reach = reach;
      at::Tensor flat = at::full({6}, comm.rank() + 1.0);
      group->all_gather(flat, ranges)->wait();
      return std::vector<double>{flat[0].item<double>(), flat[2].item<double>(),
                                 flat[5].item<double>()};
    };
    const auto mine = [&](int rank) { return comm.rank() == rank ? rank + 1.0 : 0.0; };
    EXPECT_EQ(gathered(Reach::kAll), (std::vector<double>{4, 2, 3}));
    EXPECT_EQ(gathered(Reach::kHost),
              comm.rank() < 2 ? (std::vector<double>{0, 2, 0}) : (std::vector<double>{4, 0, 3}));
    EXPECT_EQ(gathered(Reach::kNone), (std::vector<double>{mine(3), mine(1), mine(2)}));
    comm.reach = Reach::kHost;
    at::Tensor flat = at::full({6}, comm.rank() + 1.0);
    group->reduce_scatter(flat, ranges)->wait();
    if (comm.rank() == 1) {
      EXPECT_EQ(flat[2].item<double>(), 3);
    }
    if (comm.rank() == 2) {
      EXPECT_EQ(flat[4].item<double>(), 7);
    }
  });
}

TEST(SwitchComm, MessagesThatDoNotArriveAreZero) {
  on_two_hosts([](SwitchComm& comm) {
    const int partner = comm.rank() ^ 1, far = comm.rank() ^ 2;
    for (const Reach reach : {Reach::kAll, Reach::kHost, Reach::kNone}) {
      comm.reach = reach;
      for (const int other : {partner, far}) {
        at::Tensor out = at::full({2}, comm.rank() + 1.0), in = at::full({2}, -1.0);
        const Handle received = comm.receive(in, other, other == far);
        const Handle sent = comm.send(out, other, other == far);
        received->wait();
        sent->wait();
        const bool heard = reach == Reach::kAll || (reach == Reach::kHost && other == partner);
        EXPECT_EQ(in[1].item<double>(), heard ? other + 1.0 : 0.0);
      }
    }
  });
}

TEST(Launches, CountsForwardAndBackward) {
  const at::Tensor x = at::ones({3}).requires_grad_();
  const std::int64_t forward = count_operations([&] { at::mul(x, x); });
  EXPECT_GE(forward, 1);
  EXPECT_GT(count_operations([&] { at::mul(x, x).sum().backward(); }), forward + 2);
  const double seconds = seconds_of_empty_operation(at::kCPU);
  EXPECT_GT(seconds, 1e-8);
  EXPECT_LT(seconds, 1e-3);
}

TEST(MeasureBlocks, EveryRoundHasEveryBlock) {
  plan::Degrees degrees;
  degrees.global_batch = 4;
  degrees.micro_batch = 2;
  degrees.precision = cluster::Precision::kFp32;
  job::Job job = testing::make_job(testing::small_gpt(), degrees);
  job.measuring = {.seconds = 0.01, .rounds = 3, .most_rounds = 3};
  auto comms = open_local_comms("gloo", 1, std::chrono::seconds(20));
  std::map<std::pair<int, Block>, job::Message> seen;
  measure_blocks(job, *comms[0], [&](const job::Message& message) {
    EXPECT_EQ(message.kind, job::MessageKind::kBlock);
    EXPECT_GT(message.seconds, 0);
    EXPECT_GT(message.count, 0);
    EXPECT_TRUE(seen.emplace(std::pair(message.round, message.block), message).second);
  });
  // One rank, samples from no file: nothing to be together with, nothing to fetch.
  EXPECT_EQ(seen.size(), 12);
  for (int round = 0; round < 3; ++round)
    for (const Block block : {Block::kAlone, Block::kAll, Block::kWarm, Block::kLaunch})
      EXPECT_EQ(seen.count({round, block}), 1) << round << " " << to_string(block);
=======
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

// Cut off after its last pass a step has the gradients that a whole step has before its update; and
// cut off anywhere it leaves the weights alone.
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
    EXPECT_EQ(links[static_cast<std::size_t>(rank)], links[0]);
    EXPECT_EQ(collectives[static_cast<std::size_t>(rank)], collectives[0]);
  }
>>>>>>> 5424982 (Worker: measure kernels, memory, links, collectives and a model's layers into a profile)
}

}  // namespace
}  // namespace nereus::worker
