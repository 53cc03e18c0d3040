// Ranks as processes: what happens if one dies, is stopped, never comes, or is late. The others
// must name it within the time-out.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "base/error.hpp"
#include "worker/comm/comm.hpp"
#include "worker/comm/liveness.hpp"
#include "worker/comm/rendezvous.hpp"

namespace nereus::worker {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kTimeout = 2s;
// How much later than the time-out a busy machine may be.
constexpr auto kGrace = 1500ms;

int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

struct Outcome {
  int missing = -2;          // of the CommError; -2: none
  double seconds = 0;        // until it came
  std::string message = {};  // of it, or what else happened
};

// What a rank's process does; the error that it throws is its outcome.
using Job = std::function<void(const CommOptions&)>;

class Processes : public ::testing::TestWithParam<std::string> {
 protected:
  // Ranks in `absent` are not started; those that stop or die have no outcome of their own.
  std::vector<Outcome> run(int num_ranks, const Job& job, const std::vector<int>& absent = {}) {
    const int port = free_port();
    std::vector<Outcome> outcomes(static_cast<std::size_t>(num_ranks));
    std::vector<pid_t> children;
    std::vector<int> pipes;
    for (int rank = 0; rank < num_ranks; ++rank) {
      int ends[2];
      EXPECT_EQ(::pipe(ends), 0);
      pipes.push_back(ends[0]);
      const bool comes = std::find(absent.begin(), absent.end(), rank) == absent.end();
      const pid_t child = comes ? ::fork() : 0;
      if (comes && child == 0) {
        CommOptions options;
        options.backend = GetParam();
        options.rank = rank;
        options.num_ranks = num_ranks;
        options.port = port;
        options.job = fmt::format("test-{}-{}", ::getppid(), port);
        options.timeout = kTimeout;
        const std::string text = outcome_of(job, options);
        EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
        ::_exit(0);
      }
      children.push_back(child);
      ::close(ends[1]);
    }
    // Who is stopped stays so until the others are done.
    std::vector<pid_t> stopped;
    for (int rank = 0; rank < num_ranks; ++rank) {
      const auto i = static_cast<std::size_t>(rank);
      if (children[i] > 0 && !collect(children[i], pipes[i], outcomes[i]))
        stopped.push_back(children[i]);
      ::close(pipes[i]);
    }
    for (const pid_t child : stopped) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    return outcomes;
  }

 private:
  static std::string outcome_of(const Job& job, const CommOptions& options) {
    const auto begin = Clock::now();
    try {
      job(options);
      return "-2 0 done";
    } catch (const CommError& error) {
      return fmt::format("{} {} {}", error.missing_rank,
                         std::chrono::duration<double>(Clock::now() - begin).count(), error.what());
    } catch (const std::exception& error) {
      return fmt::format("-2 0 {}", error.what());
    }
  }

  // False where it is stopped, and so still there.
  static bool collect(pid_t child, int pipe, Outcome& outcome) {
    int status = 0;
    ::waitpid(child, &status, WUNTRACED);
    if (WIFSTOPPED(status)) {
      outcome.message = "stopped";
      return false;
    }
    if (WIFSIGNALED(status)) {
      outcome.message = fmt::format("signal {}", WTERMSIG(status));
    } else {
      char text[4096] = {};
      if (::read(pipe, text, sizeof text - 1) <= 0) return true;
      int read = 0;
      std::sscanf(text, "%d %lf %n", &outcome.missing, &outcome.seconds, &read);
      outcome.message = text + read;
    }
    return true;
  }
};

INSTANTIATE_TEST_SUITE_P(Every, Processes, ::testing::Values("gloo", "shared"),
                         [](const auto& which) { return which.param; });

// All ranks have met and summed once, so that what follows is no matter of starting.
std::shared_ptr<Group> warmed_up(Comm& comm) {
  std::vector<int> ranks;
  for (int rank = 0; rank < comm.num_ranks(); ++rank) ranks.push_back(rank);
  auto group = comm.group(ranks);
  at::Tensor flat = at::ones({1000}, at::kFloat);
  group->all_reduce(flat)->wait();
  if (flat[0].item<float>() != static_cast<float>(comm.num_ranks()))
    throw std::runtime_error("wrong sum");
  return group;
}

void expect_named(const Outcome& outcome, int missing) {
  EXPECT_EQ(outcome.missing, missing) << outcome.message;
  EXPECT_NE(outcome.message.find(fmt::format("rank {}", missing)), std::string::npos)
      << outcome.message;
  EXPECT_LT(outcome.seconds, std::chrono::duration<double>(kTimeout + kGrace).count())
      << outcome.message;
}

TEST_P(Processes, SumTogether) {
  for (int num_ranks : {1, 2, 5})
    for (const Outcome& outcome : run(num_ranks, [](const CommOptions& options) {
           const auto comm = open_comm(options);
           EXPECT_EQ(comm->name(), options.backend);
           warmed_up(*comm);
         }))
      EXPECT_EQ(outcome.message, "done");
}

// Rank 0 hosts the store, and may not leave before the others know.
TEST_P(Processes, RanksThatWereNotStartedAlikeAllSaySo) {
  for (const int other : {0, 2}) {
    const auto outcomes = run(3, [&](CommOptions options) {
      options.card = options.rank == other ? "seed 7\n" : "seed 3\n";
      open_comm(options);
    });
    for (const Outcome& outcome : outcomes) {
      EXPECT_NE(outcome.message.find(other == 0 ? "rank 2 has seed 3 (rank 0: 7)"
                                                : "rank 2 has seed 7 (rank 0: 3)"),
                std::string::npos)
          << outcome.message;
    }
  }
}

TEST_P(Processes, ADeadRankIsNamed) {
  for (const int dead : {0, 1, 2}) {
    const auto outcomes = run(3, [&](const CommOptions& options) {
      const auto comm = open_comm(options);
      const auto group = warmed_up(*comm);
      if (comm->rank() == dead) ::raise(SIGKILL);
      at::Tensor flat = at::ones({1000}, at::kFloat);
      group->all_reduce(flat)->wait();
    });
    for (int rank = 0; rank < 3; ++rank)
      if (rank != dead) expect_named(outcomes[rank], dead);
    EXPECT_EQ(outcomes[dead].message, fmt::format("signal {}", SIGKILL));
  }
}

TEST_P(Processes, AStoppedRankIsNamed) {
  for (const int stopped : {0, 2}) {
    const auto outcomes = run(3, [&](const CommOptions& options) {
      const auto comm = open_comm(options);
      const auto group = warmed_up(*comm);
      if (comm->rank() == stopped) ::raise(SIGSTOP);
      at::Tensor flat = at::ones({1000}, at::kFloat);
      group->all_reduce(flat)->wait();
    });
    for (int rank = 0; rank < 3; ++rank)
      if (rank != stopped) expect_named(outcomes[rank], stopped);
    EXPECT_EQ(outcomes[stopped].message, "stopped");
  }
}

TEST_P(Processes, AStoppedRankIsNamedByThoseThatDoNotTalkToIt) {
  // 0 waits for 1, which waits for 2, which is stopped.
  const auto outcomes = run(3, [&](const CommOptions& options) {
    const auto comm = open_comm(options);
    warmed_up(*comm);
    if (comm->rank() == 2) ::raise(SIGSTOP);
    at::Tensor message = at::ones({10}, at::kFloat);
    comm->receive(message, comm->rank() + 1, 3)->wait();
    if (comm->rank() == 1) comm->send(message, 0, 3)->wait();
  });
  expect_named(outcomes[0], 2);
  expect_named(outcomes[1], 2);
}

TEST_P(Processes, ARankThatNeverComesIsNamed) {
  for (const int absent : {0, 2}) {
    const auto outcomes =
        run(3, [](const CommOptions& options) { warmed_up(*open_comm(options)); }, {absent});
    for (int rank = 0; rank < 3; ++rank)
      if (rank != absent) expect_named(outcomes[rank], absent);
  }
}

#ifdef NEREUS_GLOO
// Rank 0 hosts the store; stopped, it takes connections (its kernel does) and answers nothing.
class StoppedHost : public Processes {};

INSTANTIATE_TEST_SUITE_P(Every, StoppedHost, ::testing::Values("gloo"),
                         [](const auto& which) { return which.param; });

TEST_P(StoppedHost, IsNamedByThoseThatMeet) {
  const auto outcomes = run(3, [](const CommOptions& options) {
    if (options.rank > 0) {
      warmed_up(*open_comm(options));
      return;
    }
    const StorePointer store = open_store(options);
    ::raise(SIGSTOP);
  });
  EXPECT_EQ(outcomes[0].message, "stopped");
  expect_named(outcomes[1], 0);
  expect_named(outcomes[2], 0);
}

TEST_P(StoppedHost, IsNamedByThoseThatConnect) {
  const auto outcomes = run(3, [](const CommOptions& options) {
    if (options.rank > 0) {
      warmed_up(*open_comm(options));
      return;
    }
    const StorePointer store = open_store(options);
    Liveness liveness(0, options.num_ranks, "127.0.0.1", options.timeout);
    liveness.start(meet(store, 0, options.num_ranks, liveness.address(), options.timeout));
    ::raise(SIGSTOP);
  });
  EXPECT_EQ(outcomes[0].message, "stopped");
  expect_named(outcomes[1], 0);
  expect_named(outcomes[2], 0);
}
#endif

TEST_P(Processes, ALateRankIsNamedThoughItLives) {
  // 0 waits for a message of 1, which waits for the group {1, 2}, where 2 is late.
  const auto outcomes = run(3, [](const CommOptions& options) {
    const auto comm = open_comm(options);
    warmed_up(*comm);
    at::Tensor flat = at::ones({10}, at::kFloat);
    if (comm->rank() == 2) return std::this_thread::sleep_for(kTimeout * 2);
    if (comm->rank() == 1) comm->group({1, 2})->all_reduce(flat)->wait();
    comm->receive(flat, 1, 3)->wait();
  });
  expect_named(outcomes[0], 2);
  expect_named(outcomes[1], 2);
  EXPECT_NE(outcomes[1].message.find("all-reduce number 0 of ranks {1,2}"), std::string::npos)
      << outcomes[1].message;
}

TEST_P(Processes, ARankThatLeftIsNamed) {
  const auto outcomes = run(2, [](const CommOptions& options) {
    const auto comm = open_comm(options);
    warmed_up(*comm);
    if (comm->rank() == 1) return;
    at::Tensor message = at::ones({10}, at::kFloat);
    comm->receive(message, 1, 3)->wait();
  });
  expect_named(outcomes[0], 1);
  EXPECT_EQ(outcomes[1].message, "done");
}

TEST(SharedName, WhatAKilledStartLeftIsReplacedAndNothingStays) {
  CommOptions options;
  options.backend = "shared";
  options.num_ranks = 2;
  options.job = fmt::format("leftover.{}", ::getpid());
  options.timeout = 10s;
  const std::string name = fmt::format("/nereus-{}-leftover-{}", ::getuid(), ::getpid());
  const auto exists = [&] {
    const int file = ::shm_open(name.c_str(), O_RDONLY, 0);
    if (file >= 0) ::close(file);
    return file >= 0;
  };
  const auto start = [&](int rank) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    options.rank = rank;
    try {
      warmed_up(*open_comm(options));
      ::_exit(0);
    } catch (const std::exception&) {
      ::_exit(1);
    }
  };
  int status = 0;
  const pid_t killed = start(0);  // it waits for rank 1
  while (!exists()) std::this_thread::sleep_for(1ms);
  ::kill(killed, SIGKILL);
  ::waitpid(killed, &status, 0);
  ASSERT_TRUE(exists());
  const pid_t second = start(1);  // it finds the leftover first
  std::this_thread::sleep_for(50ms);
  const pid_t first = start(0);
  ::waitpid(first, &status, 0);
  EXPECT_EQ(status, 0);
  ::waitpid(second, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(exists());
}

TEST(OpenComm, RefusesWhatCannotBe) {
  CommOptions options;
  options.backend = "carrier-pigeon";
  options.rank = 3;
  options.num_ranks = 2;
  EXPECT_THROW(open_comm(options), Errors);
  options.rank = 0;
  try {
    open_comm(options);
    FAIL();
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list().at(0).code, "comm.unknown-backend");
    EXPECT_NE(errors.list().at(0).hint.find("gloo"), std::string::npos);
  }
  options.backend = "gloo";
  options.port = 70000;
  EXPECT_THROW(open_comm(options), Errors);
}

}  // namespace
}  // namespace nereus::worker
