#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "worker/run/blocks.hpp"
#include "worker/run/launches.hpp"
#include "worker/run/switch_comm.hpp"
#include "worker/worker_testing.hpp"

namespace nereus::worker {
namespace {

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
}

}  // namespace
}  // namespace nereus::worker
