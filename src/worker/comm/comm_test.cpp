// Collectives and messages of every backend against the obvious result, with ranks as threads.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>
#include <future>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "worker/comm/comm.hpp"
#include "worker/comm/ring.hpp"

namespace nereus::worker {
namespace {

using namespace std::chrono_literals;

void on_every_rank(const std::string& backend, int num_ranks,
                   const std::function<void(Comm&)>& what) {
  auto comms = open_local_comms(backend, num_ranks, 20s);
  std::vector<std::thread> threads;
  for (auto& comm : comms) threads.emplace_back([&] { what(*comm); });
  for (auto& thread : threads) thread.join();
}

// Small integers: every sum is exact, also in bf16 (up to 256), so the obvious result is the only
// one.
at::Tensor numbers(int rank, std::int64_t count, at::ScalarType type, unsigned seed) {
  std::mt19937 random(seed * 31 + static_cast<unsigned>(rank));
  at::Tensor result = at::empty({count}, at::kDouble);
  for (std::int64_t i = 0; i < count; ++i)
    result.data_ptr<double>()[i] = static_cast<double>(static_cast<int>(random() % 41) - 20);
  return result.to(type);
}

at::Tensor sum_of(const std::vector<int>& ranks, std::int64_t count, at::ScalarType type,
                  unsigned seed) {
  at::Tensor sum = at::zeros({count}, at::kDouble);
  for (const int rank : ranks) sum += numbers(rank, count, at::kDouble, seed);
  return sum.to(type);
}

// Ranges that do not overlap, in random order, with gaps, some empty.
std::vector<Range> random_ranges(std::int64_t count, int parts, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int64_t> cuts;
  for (int i = 0; i < 2 * parts; ++i)
    cuts.push_back(static_cast<std::int64_t>(random() % static_cast<unsigned>(count + 1)));
  std::sort(cuts.begin(), cuts.end());
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < cuts.size(); i += 2) ranges.push_back({cuts[i], cuts[i + 1]});
  if (random() % 3 == 0) ranges[random() % ranges.size()] = {0, 0};
  std::shuffle(ranges.begin(), ranges.end(), random);
  return ranges;
}

class Messages : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Every, Messages, ::testing::Values("gloo", "shared"),
                         [](const auto& which) { return which.param; });

TEST_P(Messages, SayWhenTheyAreThere) {
  std::atomic<bool> asked = false;
  on_every_rank(GetParam(), 2, [&](Comm& comm) {
    at::Tensor flat = at::full({1000}, 7.0 * comm.rank(), at::kFloat);
    if (comm.rank() == 1) {
      while (!asked) std::this_thread::sleep_for(1ms);
      comm.send(flat, 0, 3)->wait();
      return;
    }
    const Handle first = comm.receive(flat, 1, 3);
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(first->done());
    asked = true;
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!first->done() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(first->done());
    first->wait();
    EXPECT_TRUE(first->done());
    EXPECT_EQ(flat[999].item<float>(), 7);
  });
}

TEST_P(Messages, MayBeAskedAndThenWaitedForOrDropped) {
  on_every_rank(GetParam(), 2, [&](Comm& comm) {
    at::Tensor flat = at::full({1000}, 7.0 * comm.rank(), at::kFloat);
    at::Tensor never = at::empty({10}, at::kFloat);
    if (comm.rank() == 1) {
      std::this_thread::sleep_for(50ms);
      comm.send(flat, 0, 3)->wait();
      return;
    }
    const Handle dropped = comm.receive(never, 1, 4);  // nobody sends it
    EXPECT_FALSE(dropped->done());
    const Handle late = comm.receive(flat, 1, 3);
    late->done();
    late->wait();
    EXPECT_EQ(flat[0].item<float>(), 7);
  });
}

// True where it ended while some of its bytes were there and some were not.
bool ends_half_through(const std::string& backend) {
  const auto comms = open_local_comms(backend, 2, 60s);
  constexpr std::int64_t kCount = 256 << 20;
  const at::Tensor sent = at::ones({kCount}, at::kByte), received = at::zeros({kCount}, at::kByte);
  const volatile std::uint8_t* bytes = received.data_ptr<std::uint8_t>();
  const auto fails = [](const Handle& handle) {
    try {
      handle->wait();
    } catch (const CommError&) {
      return true;
    }
    return false;
  };
  auto sends = std::async(std::launch::async, [&] { return fails(comms[1]->send(sent, 0, 3)); });
  auto receives =
      std::async(std::launch::async, [&] { return fails(comms[0]->receive(received, 1, 3)); });
  while (bytes[0] == 0 && receives.wait_for(0ms) != std::future_status::ready)
    std::this_thread::yield();
  comms[0]->abort();
  comms[1]->abort();
  EXPECT_EQ(receives.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(sends.wait_for(20s), std::future_status::ready);
  const bool failed = receives.get();
  sends.get();  // it may have been handed over whole
  return failed && bytes[0] == 1 && bytes[kCount - 1] == 0;
}

TEST_P(Messages, EndWhenToldThoughHalfThrough) {
  std::signal(SIGPIPE, SIG_IGN);  // as a worker does
  int half_through = 0;
  for (int i = 0; i < 5; ++i) half_through += ends_half_through(GetParam());
  EXPECT_GT(half_through, 0);
}

struct Case {
  int num_ranks;
  std::int64_t count;
  at::ScalarType type;
  unsigned seed;
  std::vector<int> order;  // of the group
};

Case random_case() {
  Case c;
  c.num_ranks = *rc::gen::inRange(1, 6);
  // Mostly small; sometimes several chunks.
  c.count = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 50),
                            rc::gen::inRange<std::int64_t>(100'000, 900'000));
  c.type = *rc::gen::element(at::kDouble, at::kFloat, at::kBFloat16);
  c.seed = *rc::gen::inRange(0U, 1'000'000U);
  c.order.resize(static_cast<std::size_t>(c.num_ranks));
  std::iota(c.order.begin(), c.order.end(), 0);
  std::shuffle(c.order.begin(), c.order.end(), std::mt19937(c.seed));
  return c;
}

// rapidcheck's assertions belong to its own thread; others collect what went wrong.
class Complaints {
 public:
  void check(bool good, const std::string& what) {
    if (good) return;
    const std::lock_guard lock(mutex_);
    text_ += what + "; ";
  }
  std::string text() const { return text_; }

 private:
  std::mutex mutex_;
  std::string text_;
};

class Backends : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Every, Backends, ::testing::Values("gloo", "shared"),
                         [](const auto& which) { return which.param; });

TEST_P(Backends, CollectivesGiveTheObviousResult) {
  const auto property = [&] {
    const Case c = random_case();
    const auto ranges = random_ranges(c.count, c.num_ranks, c.seed);
    Complaints complaints;
    on_every_rank(GetParam(), c.num_ranks, [&](Comm& comm) {
      const auto group = comm.group(c.order);
      const at::Tensor own = numbers(comm.rank(), c.count, c.type, c.seed);
      const at::Tensor sum = sum_of(c.order, c.count, c.type, c.seed);
      at::Tensor reduced = own.clone(), scattered = own.clone(), gathered = own.clone(),
                 largest = own.clone();
      // Started together: they run in order.
      const Handle a = group->all_reduce(reduced);
      const Handle b = group->reduce_scatter(scattered, ranges);
      const Handle d = group->all_gather(gathered, ranges);
      const Handle e = group->all_reduce(largest, Reduction::kMax);
      for (const Handle& handle : {e, a, b, d}) handle->wait();
      complaints.check(at::equal(reduced, sum), "all-reduce");
      const Range mine = ranges[group->index()];
      complaints.check(
          at::equal(scattered.slice(0, mine.begin, mine.end), sum.slice(0, mine.begin, mine.end)),
          "reduce-scatter");
      at::Tensor expected = own.clone();
      at::Tensor most = own.clone();
      for (int i = 0; i < group->size(); ++i) {
        const Range range = ranges[i];
        const at::Tensor theirs = numbers(c.order[i], c.count, c.type, c.seed);
        expected.slice(0, range.begin, range.end).copy_(theirs.slice(0, range.begin, range.end));
        most = at::maximum(most, theirs);
      }
      complaints.check(at::equal(gathered, expected), "all-gather");
      complaints.check(at::equal(largest, most), "max");
    });
    RC_ASSERT(complaints.text() == "");
  };
  EXPECT_TRUE(rc::check("collectives", property));
}

TEST_P(Backends, SumsHaveTheSameBitsOnAllMembersEveryTime) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    constexpr int kNumRanks = 5;
    std::vector<at::Tensor> results(2 * kNumRanks);
    for (int time = 0; time < 2; ++time)
      on_every_rank(GetParam(), kNumRanks, [&](Comm& comm) {
        auto generator = at::detail::createCPUGenerator(static_cast<unsigned>(comm.rank()));
        at::Tensor flat = at::randn({300'001}, generator, at::kFloat).to(type);
        comm.group({3, 1, 4, 0, 2})->all_reduce(flat)->wait();
        results[time * kNumRanks + comm.rank()] = flat;
      });
    for (const auto& result : results) EXPECT_TRUE(at::equal(result, results[0]));
    at::Tensor sum = at::zeros({300'001}, at::kDouble);
    for (unsigned rank = 0; rank < kNumRanks; ++rank)
      sum += at::randn({300'001}, at::detail::createCPUGenerator(rank), at::kFloat)
                 .to(type)
                 .to(at::kDouble);
    const double unit = type == at::kFloat ? 1e-6 : type == at::kHalf ? 1e-3 : 8e-3;
    EXPECT_LT((results[0].to(at::kDouble) - sum).abs().max().item<double>(), 20 * unit);
  }
}

TEST_P(Backends, MessagesMeetByTagAndThenInOrder) {
  on_every_rank(GetParam(), 3, [](Comm& comm) {
    constexpr int kNumTags = 20;
    std::vector<Handle> handles;
    std::vector<at::Tensor> received;
    for (int other = 0; other < 3; ++other) {
      if (other == comm.rank()) continue;
      for (int tag = 0; tag < kNumTags; ++tag)
        for (int repeat = 0; repeat < 2; ++repeat)
          handles.push_back(
              comm.send(at::full({1 + 997 * tag}, comm.rank() * 1000 + tag * 10 + repeat, at::kInt),
                        other, tag));
    }
    std::vector<int> expected;
    for (int other = 2; other >= 0; --other) {
      if (other == comm.rank()) continue;
      for (int tag = kNumTags - 1; tag >= 0; --tag)  // against the order of the sends
        for (int repeat = 0; repeat < 2; ++repeat) {
          received.push_back(at::zeros({1 + 997 * tag}, at::kInt));
          expected.push_back(other * 1000 + tag * 10 + repeat);
          handles.push_back(comm.receive(received.back(), other, tag));
        }
    }
    std::shuffle(handles.begin(), handles.end(), std::mt19937(7));
    for (const Handle& handle : handles) handle->wait();
    for (const Handle& handle : handles) handle->wait();  // a second wait returns at once
    for (std::size_t i = 0; i < received.size(); ++i)
      EXPECT_TRUE(at::equal(received[i], at::full_like(received[i], expected[i])));
  });
}

TEST_P(Backends, EmptyMessagesArrive) {
  on_every_rank(GetParam(), 2, [](Comm& comm) {
    at::Tensor nothing = at::empty({0}, at::kFloat);
    const Handle sent = comm.send(nothing, 1 - comm.rank(), 5);
    comm.receive(nothing, 1 - comm.rank(), 5)->wait();
    sent->wait();
  });
}

TEST_P(Backends, ManyOperationsOfManyGroupsRunBesideEachOther) {
  constexpr int kNumRanks = 4, kRounds = 12;
  const std::vector<std::vector<int>> all = {{0, 1, 2, 3}, {1, 0},       {2, 3}, {0, 2},
                                             {3, 1},       {0, 1, 2, 3}, {2},    {3, 2, 1}};
  on_every_rank(GetParam(), kNumRanks, [&](Comm& comm) {
    std::vector<std::shared_ptr<Group>> groups;
    for (const auto& ranks : all)
      if (std::find(ranks.begin(), ranks.end(), comm.rank()) != ranks.end())
        groups.push_back(comm.group(ranks));
    struct Started {
      Handle handle;
      at::Tensor result, expected;
    };
    std::vector<Started> started;
    // Every rank visits its groups in another order; within a group the order is the same.
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::shared_ptr<Group>> order = groups;
      std::shuffle(order.begin(), order.end(),
                   std::mt19937(static_cast<unsigned>(round * 10 + comm.rank())));
      for (const auto& group : order) {
        const std::int64_t count = 1 + 40'000 * (round % 3);
        const unsigned seed = static_cast<unsigned>(round);
        Started one;
        one.result = numbers(comm.rank(), count, at::kFloat, seed);
        one.expected = sum_of(group->ranks(), count, at::kFloat, seed);
        one.handle = group->all_reduce(one.result);
        started.push_back(one);
      }
      at::Tensor message = numbers(comm.rank(), 5000, at::kFloat, static_cast<unsigned>(round));
      const int next = (comm.rank() + 1) % kNumRanks,
                last = (comm.rank() + kNumRanks - 1) % kNumRanks;
      started.push_back({comm.send(message, next, round), message, message});
      at::Tensor incoming = at::zeros({5000}, at::kFloat);
      started.push_back({comm.receive(incoming, last, round), incoming,
                         numbers(last, 5000, at::kFloat, static_cast<unsigned>(round))});
    }
    for (const Started& one : started) {
      one.handle->wait();
      EXPECT_TRUE(at::equal(one.result, one.expected));
    }
  });
}

TEST(EvenRanges, CoverAllAndDifferByOne) {
  for (const std::int64_t count : {0, 1, 5, 7, 1000003})
    for (int parts = 1; parts <= 6; ++parts) {
      const auto ranges = even_ranges(count, parts);
      std::int64_t at = 0;
      for (const Range& range : ranges) {
        EXPECT_EQ(range.begin, at);
        EXPECT_GE(range.size(), count / parts);
        EXPECT_LE(range.size(), (count + parts - 1) / parts);
        at = range.end;
      }
      EXPECT_EQ(at, count);
    }
}

}  // namespace
}  // namespace nereus::worker
