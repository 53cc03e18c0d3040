// State from rank to rank when plans change, and the rule by which an interrupted step is taken by
// all ranks or by none. Ranks are threads.
#include <gtest/gtest.h>
#include <signal.h>

#include <numeric>

#include "worker/elastic/exchange.hpp"
#include "worker/execute/host_state.hpp"
#include "worker/worker_testing.hpp"

namespace nereus::worker {
namespace {

constexpr int kBatch = 12;

job::Job job_of(int pp, int dp, int zero = 0, int tp = 1) {
  plan::Degrees d;
  d.pp = pp;
  d.dp = dp;
  d.tp = tp;
  d.zero = zero;
  d.global_batch = kBatch;
  d.precision = cluster::Precision::kFp64;
  job::Job job = testing::make_job(testing::small_gpt(), d);
  job.training.clip = 0.5;
  return job;
}

// All ranks of a generation, as threads; what they hold outlives it.
struct Generation {
  job::Job job;
  std::vector<std::unique_ptr<Comm>> comms;
  std::vector<std::unique_ptr<Executor>> executors;

  explicit Generation(job::Job of, bool starts_empty) : job(std::move(of)) {
    const int ranks = testing::ranks_of(job);
    comms = open_local_comms("gloo", ranks, std::chrono::seconds(60));
    executors.resize(comms.size());
    each([&](int rank) {
      executors[rank] = std::make_unique<Executor>(
          job, *comms[rank], testing::reader_of(job.plan.model), starts_empty);
    });
  }

  void each(const std::function<void(int rank)>& work) {
    std::vector<std::thread> threads;
    std::vector<std::exception_ptr> failures(comms.size());
    for (std::size_t i = 0; i < comms.size(); ++i)
      threads.emplace_back([&, i] {
        try {
          at::set_num_threads(1);
          work(static_cast<int>(i));
        } catch (...) {
          failures[i] = std::current_exception();
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures)
      if (failure) std::rethrow_exception(failure);
  }

  Executor& executor(int rank) { return *executors[rank]; }

  std::vector<double> run(std::int64_t first, std::int64_t steps) {
    std::vector<double> losses(static_cast<std::size_t>(steps));
    each([&](int rank) {
      for (std::int64_t i = 0; i < steps; ++i) {
        const double loss = executor(rank).run(first + i).loss;
        if (rank == 0) losses[i] = loss;
      }
    });
    return losses;
  }
};

struct Moved {
  std::int64_t own = 0, peers = 0, needed = 0;
  std::vector<std::string> missing, remarks;
};

// Ranks of `from` that live on are the first ranks of `to`, but those in `lost`.
Moved hand_over(Generation& from, Generation& to, const std::set<int>& lost = {},
                const Spoil& spoil = {}) {
  std::vector<int> survivors;
  for (int rank = 0; rank < static_cast<int>(from.comms.size()); ++rank)
    if (!lost.contains(rank)) survivors.push_back(rank);
  Moved moved;
  std::mutex mutex;
  to.each([&](int rank) {
    const auto place = static_cast<std::size_t>(rank);
    HostState held;
    if (place < survivors.size())
      held = host_state(from.executor(survivors[place]), from.job.training);
    HostState needed = host_state(to.executor(rank), to.job.training);
    bool filled = false;
    const Exchanged e = exchange_state(*to.comms[place], held.parts, needed.parts, filled, spoil);
    EXPECT_EQ(filled, e.missing.empty());
    if (e.missing.empty()) {
      needed.put_back();
      for (Optimizer::Slot& slot : to.executor(rank).optimizer().slots()) {
        slot.state->store_update();
        slot.state->spread_start();
      }
    }
    const std::lock_guard lock(mutex);
    moved.own += e.own_bytes;
    moved.peers += e.peer_bytes;
    for (const checkpoint::Part& part : needed.parts)
      moved.needed += static_cast<std::int64_t>(part.bytes.size());
    moved.missing = e.missing;
    moved.remarks = e.remarks;
  });
  return moved;
}

void expect_same_losses(const std::vector<double>& losses, const std::vector<double>& expected,
                        std::size_t first) {
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_NEAR(losses[i], expected[first + i], 1e-9 * std::abs(expected[first + i]))
        << "step " << first + i;
}

TEST(Morph, ThroughShapesWithStateFromPeers) {
  const std::vector<double> expected = Generation(job_of(1, 1), false).run(0, 8);
  auto now = std::make_unique<Generation>(job_of(4, 2), false);
  expect_same_losses(now->run(0, 2), expected, 0);
  std::int64_t step = 2;
  struct Next {
    int pp, dp;
    std::set<int> lost;
  };
  // Ranks of pp 4 x dp 2 that are lost are of different stages: each has a copy left.
  for (const Next& next : {Next{3, 2, {1, 6}}, Next{2, 3, {}}, Next{4, 2, {}}}) {
    auto then = std::make_unique<Generation>(job_of(next.pp, next.dp), true);
    const Moved moved = hand_over(*now, *then, next.lost);
    EXPECT_TRUE(moved.missing.empty());
    EXPECT_EQ(moved.own + moved.peers, moved.needed);
    EXPECT_GT(moved.peers, 0);
    EXPECT_GT(moved.own, 0);
    now = std::move(then);
    expect_same_losses(now->run(step, 2), expected, static_cast<std::size_t>(step));
    step += 2;
  }
}

TEST(Morph, ThroughDividedStateAndTensorSlices) {
  const std::vector<double> expected = Generation(job_of(1, 1), false).run(0, 8);
  auto now = std::make_unique<Generation>(job_of(1, 2, 1), false);
  expect_same_losses(now->run(0, 2), expected, 0);
  std::int64_t step = 2;
  for (const job::Job& job : {job_of(1, 2, 0, 2), job_of(2, 2, 1), job_of(1, 4, 3)}) {
    auto then = std::make_unique<Generation>(job, true);
    const Moved moved = hand_over(*now, *then);
    EXPECT_TRUE(moved.missing.empty()) << moved.missing.front();
    now = std::move(then);
    expect_same_losses(now->run(step, 2), expected, static_cast<std::size_t>(step));
    step += 2;
  }
}

TEST(Morph, SaysWhatNobodyHas) {
  Generation now(job_of(2, 2), false), then(job_of(2, 1), true);
  now.run(0, 1);
  std::set<int> stage;  // both replicas of the last stage
  for (int rank = 0; rank < 4; ++rank)
    if (now.executor(rank).rank_plan().stages.front().first_layer > 0) stage.insert(rank);
  ASSERT_EQ(stage.size(), 2u);
  EXPECT_FALSE(hand_over(now, then, stage).missing.empty());
}

TEST(Morph, RefusesASpoiledMessageAndTakesAnother) {
  const std::vector<double> expected = Generation(job_of(1, 1), false).run(0, 3);
  Generation now(job_of(1, 3), false), then(job_of(1, 4), true);
  now.run(0, 2);
  std::atomic<int> spoiled = 0;
  const Moved moved = hand_over(now, then, {}, [&](int, at::Tensor& message) {
    if (spoiled++ == 0) message[5].bitwise_xor_(1);
  });
  EXPECT_TRUE(moved.missing.empty());
  ASSERT_FALSE(moved.remarks.empty());
  EXPECT_NE(moved.remarks.front().find("refused"), std::string::npos);
  expect_same_losses(then.run(2, 1), expected, 2);
}

TEST(Morph, DoesNotTrustAnOddCopy) {
  const std::vector<double> expected = Generation(job_of(1, 1), false).run(0, 3);
  Generation now(job_of(1, 3), false), then(job_of(1, 4), true);
  now.run(0, 2);
  now.executor(1).states().front()->own_master()[3] += 1e-3;  // a bit that fell over
  const Moved moved = hand_over(now, then);
  EXPECT_TRUE(moved.missing.empty());
  ASSERT_FALSE(moved.remarks.empty());
  EXPECT_NE(moved.remarks.front().find("rank 1"), std::string::npos);
  expect_same_losses(then.run(2, 1), expected, 2);
}

// One rank breaks off when it has all sums but has not said so: nobody can have updated.
TEST(CommitRule, AStepIsTakenByAllOrByNone) {
  const std::vector<double> expected = Generation(job_of(1, 1), false).run(0, 4);
  for (const bool taken : {false, true}) {
    Generation now(job_of(2, 2), false);
    now.run(0, 2);
    double norm = 0;
    now.executor(3).before_update = [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the others have arrived
      for (const auto& comm : now.comms) comm->abort();
    };
    int freed = 0;
    std::mutex mutex;
    const auto began = std::chrono::steady_clock::now();
    now.each([&](int rank) {
      try {
        now.executor(rank).run(2);
        ADD_FAILURE() << "rank " << rank << " went on";
      } catch (const CommError&) {
        const std::lock_guard lock(mutex);
        ++freed;
      }
      EXPECT_TRUE(rank == 3 || now.executor(rank).has_arrived()) << rank;
    });
    EXPECT_EQ(freed, 4);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5));
    if (taken) {  // as if one had updated before it died: the others do too
      Generation whole(job_of(1, 1), false);
      whole.run(0, 2);
      norm = whole.executor(0).run(2).gradient_norm;
      for (int rank = 0; rank < 3; ++rank) now.executor(rank).commit(2, norm);
    }
    Generation then(job_of(1, 3), true);
    EXPECT_TRUE(hand_over(now, then, {3}).missing.empty());
    expect_same_losses(then.run(taken ? 3 : 2, 1), expected, taken ? 3 : 2);
  }
}

TEST(CommAbort, FreesEveryWait) {
  for (const char* backend : {"gloo", "shared"}) {
    auto comms = open_local_comms(backend, 3, std::chrono::seconds(60));
    std::vector<int> all(3);
    std::iota(all.begin(), all.end(), 0);
    std::atomic<int> freed = 0;
    std::vector<std::thread> threads;
    const auto expect_freed = [&](const std::function<void()>& wait) {
      threads.emplace_back([&freed, wait] {
        try {
          wait();
        } catch (const CommError&) {
          ++freed;
        }
      });
    };
    // Ranks 0 and 1 wait for rank 2, which never comes.
    for (int rank : {0, 1}) {
      Comm& comm = *comms[rank];
      expect_freed([&comm, all] { comm.group(all)->all_reduce(at::zeros({1000}))->wait(); });
    }
    expect_freed([&] { comms[0]->receive(at::zeros({10}), 2, 7)->wait(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto began = std::chrono::steady_clock::now();
    for (const auto& comm : comms) comm->abort();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(freed, 3) << backend;
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(1000)) << backend;
    EXPECT_THROW(comms[0]->send(at::zeros({10}), 1, 9)->wait(), CommError) << backend;
  }
}

// Whichever rank is gone, and wherever the others are in a collective.
TEST(CommAbort, FreesThoseWhoLostARank) {
  signal(SIGPIPE, SIG_IGN);  // as a worker does
  for (int round = 0; round < 12; ++round) {
    auto comms = open_local_comms("gloo", 3, std::chrono::seconds(60));
    std::vector<std::thread> threads;
    std::atomic<int> freed = 0;
    std::atomic<bool> gone = false;
    const int lost = round % 3;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        Comm& comm = *comms[rank];
        try {
          const auto group = comm.group({0, 1, 2});
          for (int i = 0; rank != lost || i < 20; ++i)
            group->all_reduce(at::zeros({5000 + i}))->wait();
        } catch (const CommError&) {
          ++freed;
        }
        if (rank == lost) gone = true;
      });
    while (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    comms[lost].reset();
    std::this_thread::sleep_for(std::chrono::milliseconds(round * 3));
    const auto began = std::chrono::steady_clock::now();
    for (const auto& comm : comms)
      if (comm) comm->abort();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(freed, 2);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(1500)) << round;
  }
}

}  // namespace
}  // namespace nereus::worker
