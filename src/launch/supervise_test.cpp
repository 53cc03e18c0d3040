#include "launch/supervise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "base/error.hpp"

namespace nereus::launch::supervise_test {
namespace {

using ::testing::HasSubstr;

// A rank that is a few lines of shell: `say STEP`, `beat`, `done`; rank number in $rank.
RankSpec shell_rank(int rank, const std::string& body) {
  const std::string script = "fd=$1; rank=" + std::to_string(rank) + "\n" + R"(
    tell() { printf '%s\n' "$1" >&"$fd"; }
    hello() { tell "{\"kind\":\"hello\",\"rank\":$rank,\"pid\":$$}"; }
    beat() { tell "{\"kind\":\"alive\",\"rank\":$rank}"; }
    step() { tell "{\"kind\":\"step\",\"rank\":$rank,\"step\":$1,\"loss\":2.5}"; }
    fail() { tell "{\"kind\":\"error\",\"rank\":$rank,\"message\":\"$1\",\"missing_rank\":$2}"; exit 5; }
    finish() { tell "{\"kind\":\"done\",\"rank\":$rank}"; exit "${1:-0}"; }
    run() { while sleep 0.05; do beat; done; }
    hello
  )" + body;
  return {rank, {{"/bin/bash", "-c", script}, {}, "--report-fd"}};
}

constexpr Limits kQuick{.timeout_s = 1.5, .start_timeout_s = 20, .grace_s = 0.3};

bool is_running(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return static_cast<bool>(status >> number >> name >> state) && state != "Z" && state != "X";
}

double seconds_of(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Supervise, PassesOnWhatRanksSayAndPrint) {
  std::set<std::pair<int, std::int64_t>> steps;
  std::multiset<std::string> lines;
  Watch watch;
  watch.message = [&](const job::Message& m) {
    if (m.kind == job::MessageKind::kStep) steps.emplace(m.rank, m.step);
  };
  watch.text = [&](int rank, std::string_view line) {
    lines.insert(std::to_string(rank) + ":" + std::string(line));
  };
  const std::string body = "echo out; echo err >&2; step 0; step 1; printf last; finish";
  const Outcome outcome = run_ranks({shell_rank(0, body), shell_rank(1, body)}, kQuick, watch);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_EQ(steps, (std::set<std::pair<int, std::int64_t>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(lines,
            (std::multiset<std::string>{"0:out", "0:err", "0:last", "1:out", "1:err", "1:last"}));
}

TEST(Supervise, TheEnvironmentAndTheArgumentsArrive) {
  std::string line;
  Watch watch;
  watch.text = [&](int, std::string_view text) { line = text; };
  RankSpec spec = shell_rank(0, "echo $MASTER_PORT $HOME_OF_TEST; finish");
  spec.child.environment = {{"MASTER_PORT", "1234"}};
  setenv("MASTER_PORT", "9", 1);
  setenv("HOME_OF_TEST", "here", 1);
  EXPECT_EQ(run_ranks({spec}, kQuick, watch).exit_code, 0);
  EXPECT_EQ(line, "1234 here");
}

TEST(Supervise, OneDeathEndsAllAndIsNamed) {
  std::vector<pid_t> pids;
  Watch watch;
  watch.message = [&](const job::Message& m) {
    if (m.kind == job::MessageKind::kHello) pids.push_back(m.pid);
  };
  Outcome outcome;
  const double seconds = seconds_of([&] {
    // Rank 0 ignores what it is told, and has a child of its own.
    outcome = run_ranks({shell_rank(0, "trap '' TERM; sleep 60 & run"), shell_rank(1, "run"),
                         shell_rank(2, "echo before the end >&2; kill -9 $$")},
                        kQuick, watch);
  });
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(outcome.failure->rank, 2);
  EXPECT_THAT(outcome.failure->message, HasSubstr("before the end"));
  EXPECT_LT(seconds, 5);
  ASSERT_EQ(pids.size(), 3u);
  for (const pid_t pid : pids) EXPECT_FALSE(is_running(pid)) << pid;
}

TEST(Supervise, WhatTheOthersSayOfADeathDoesNotHideIt) {
  const Outcome outcome = run_ranks(
      {shell_rank(0, "sleep 0.1; fail reset -1"), shell_rank(1, "kill -9 $$")}, kQuick, {});
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->rank, 1);
}

TEST(Supervise, AStoppedRankIsNamedWithinTheTimeOut) {
  Outcome outcome;
  const double seconds = seconds_of([&] {
    outcome = run_ranks({shell_rank(0, "run"), shell_rank(1, "kill -STOP $$")}, kQuick, {});
  });
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(outcome.failure->rank, 1);
  EXPECT_THAT(outcome.failure->message, HasSubstr("stopped by a signal"));
  EXPECT_GE(seconds, kQuick.timeout_s);
  EXPECT_LT(seconds, kQuick.timeout_s + 3);
}

TEST(Supervise, ErrorsOfTheUserEndWithCodeTwo) {
  const std::string body =
      "tell '{\"kind\":\"error\",\"rank\":0,\"code\":\"checkpoint.corrupt\",\"message\":\"bad\","
      "\"hint\":\"another\",\"input_error\":true}'; exit 2";
  const Outcome outcome = run_ranks({shell_rank(0, body), shell_rank(1, "run")}, kQuick, {});
  EXPECT_EQ(outcome.exit_code, 2);
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(*outcome.failure, (Failure{0, "checkpoint.corrupt", "bad", "another", true}));
}

TEST(Supervise, ErrorsOfTheMachineEndWithCodeFour) {
  const std::string body =
      "tell '{\"kind\":\"error\",\"rank\":0,\"code\":\"checkpoint.write\",\"message\":\"full\","
      "\"environment_error\":true}'; exit 4";
  const Outcome outcome = run_ranks({shell_rank(0, body), shell_rank(1, "run")}, kQuick, {});
  EXPECT_EQ(outcome.exit_code, 4);
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->code, "checkpoint.write");
}

TEST(Supervise, ALineThatIsNoMessageIsAFailure) {
  const Outcome outcome = run_ranks({shell_rank(0, "tell nonsense; run")}, kQuick, {});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(outcome.failure->code, "train.no-message");
}

TEST(Supervise, AProgramThatIsNotThereIsAFailure) {
  const Outcome outcome =
      run_ranks({{0, {{"/nonexistent/worker"}, {}, "--report-fd"}}}, kQuick, {});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.failure->message, HasSubstr("could not be started"));
}

// Sends this process a signal when a step of every rank has been seen.
Outcome with_signals(const std::vector<RankSpec>& specs, int signal, int times) {
  int sent = 0;
  std::set<int> stepped;
  Watch watch;
  watch.message = [&](const job::Message& m) {
    if (m.kind != job::MessageKind::kStep) return;
    stepped.insert(m.rank);
    if (stepped.size() == specs.size() && sent == 0) {
      kill(getpid(), signal);
      ++sent;
    }
  };
  watch.asked = [&](Asked) {
    if (sent < times) {
      kill(getpid(), signal);
      ++sent;
    }
  };
  return run_ranks(specs, kQuick, watch);
}

TEST(Supervise, CtrlCAsksTheRanksToEnd) {
  const std::string body = "trap 'step 1; finish 10' INT; step 0; run";
  const Outcome outcome = with_signals({shell_rank(0, body), shell_rank(1, body)}, SIGINT, 1);
  EXPECT_EQ(outcome.exit_code, 10);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_EQ(outcome.asked, Asked::kEnd);
}

TEST(Supervise, TerminationIsHandedOnAndSavedCheckpointsAreCode75) {
  const std::string body = "trap 'finish 75' TERM; step 0; run";
  const Outcome outcome = with_signals({shell_rank(0, body), shell_rank(1, body)}, SIGTERM, 1);
  EXPECT_EQ(outcome.exit_code, 75);
  EXPECT_EQ(outcome.asked, Asked::kSave);
}

TEST(Supervise, TheSecondCtrlCKills) {
  const std::string body = "trap '' INT TERM; step 0; run";
  Outcome outcome;
  const double seconds =
      seconds_of([&] { outcome = with_signals({shell_rank(0, body)}, SIGINT, 2); });
  EXPECT_EQ(outcome.exit_code, 10);
  EXPECT_EQ(outcome.failure, std::nullopt);
  EXPECT_LT(seconds, 5);
}

TEST(Supervise, RanksDieWithALauncherThatIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t launcher = fork();
  if (launcher == 0) {
    Watch watch;
    watch.message = [&](const job::Message& m) {
      if (m.kind == job::MessageKind::kHello && write(ends[1], &m.pid, sizeof m.pid) < 0) _exit(1);
    };
    run_ranks({shell_rank(0, "run"), shell_rank(1, "run")}, {}, watch);
    _exit(0);
  }
  int pids[2] = {};
  ASSERT_EQ(read(ends[0], &pids[0], sizeof(int)), static_cast<ssize_t>(sizeof(int)));
  ASSERT_EQ(read(ends[0], &pids[1], sizeof(int)), static_cast<ssize_t>(sizeof(int)));
  EXPECT_TRUE(is_running(pids[0]) && is_running(pids[1]));
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  for (int i = 0; i < 100 && (is_running(pids[0]) || is_running(pids[1])); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(is_running(pids[0]) || is_running(pids[1]));
  close(ends[0]);
  close(ends[1]);
}

TEST(Child, CaptureTakesTextAndCodeAndEndsInTime) {
  const Captured good = capture({.arguments = {"/bin/sh", "-c", "echo one; exit 3"}}, 10);
  EXPECT_EQ(good.text, "one\n");
  EXPECT_EQ(good.exit_code, 3);
  Captured late;
  EXPECT_LT(seconds_of([&] {
              late = capture({.arguments = {"/bin/sh", "-c", "echo two; sleep 60"}}, 0.3);
            }),
            5);
  EXPECT_EQ(late.exit_code, -1);
}

TEST(Child, PortsAreFree) {
  const int port = free_port();
  EXPECT_GT(port, 1023);
  EXPECT_LT(port, 65536);
}

}  // namespace
}  // namespace nereus::launch::supervise_test
