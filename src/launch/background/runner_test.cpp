// Background jobs that are lines of shell, beside a foreground that is a loop. Of usual priority
// and without a control group: a machine that is busy with other tests would let nothing else
// begin.
#include "launch/background/runner.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/temporary_folder.hpp"

namespace nereus::launch::runner_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Reports steps until `body` ends it; $step is the number of the next.
BackgroundJob shell_job(const std::string& name, const std::string& body) {
  const std::string script = "fd=$1; step=0\n" + std::string(R"(
    tell() { printf '%s\n' "$1" >&"$fd"; }
    step() { tell "{\"kind\":\"step\",\"rank\":0,\"step\":$step,\"loss\":2.5,\"tokens\":10}"; step=$((step + 1)); }
    finish() { tell '{"kind":"done","rank":0}'; exit 0; }
    trap 'tell "{\"kind\":\"done\",\"rank\":0}"; exit 75' TERM
    tell "{\"kind\":\"hello\",\"rank\":0,\"pid\":$$}"
  )") + body;
  return {name, {{0, {{"/bin/bash", "-c", script}, {}, "--report-fd"}}}};
}

const std::string kForEver = "while true; do step; sleep 0.005; done";
constexpr PaceOptions kQuick{.bound = 0.5, .warmup_steps = 1, .alone_steps = 3, .window = 4};

// Counts what the runner says: a job begins, a job ends.
struct Said {
  std::atomic<int> count = 0;
  BackgroundOptions options(double memory_bytes = 0) {
    return {kQuick, memory_bytes, false, [this](const std::string&) { ++count; }};
  }
};

// Steps that take the same whatever the background does: so many after that many words.
void run_foreground(BackgroundRunner& runner, int num_steps, const Said& said, int words) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (num_steps > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(10ms);
    runner.foreground_step(0.01);
    if (said.count >= words) --num_steps;
  }
}

TEST(BackgroundRunner, JobsQueueAndEndWithTheForeground) {
  Said said;
  BackgroundRunner runner({shell_job("short", "step; step; step; finish"),
                           shell_job("long", kForEver), shell_job("never", kForEver)},
                          said.options());
  run_foreground(runner, 100, said, 3);
  const BackgroundOutcome outcome = runner.finish(true);
  ASSERT_EQ(outcome.jobs.size(), 3U);
  EXPECT_EQ(outcome.jobs[0].end, BackgroundEnd::kDone);
  EXPECT_EQ(outcome.jobs[0].steps, 3);
  EXPECT_EQ(outcome.jobs[1].end, BackgroundEnd::kWithForeground);
  EXPECT_GT(outcome.jobs[1].steps, 3);
  EXPECT_EQ(outcome.jobs[1].work, 10);
  EXPECT_GT(outcome.jobs[1].alone_step_s, 0);
  EXPECT_EQ(outcome.jobs[2].end, BackgroundEnd::kNotBegun);
  EXPECT_GE(outcome.slowdown.num_alone, 3);
  EXPECT_GT(outcome.slowdown.num_shared, 20);
  EXPECT_TRUE(outcome.slowdown.held(0.5));
}

TEST(BackgroundRunner, NextBeginsWhereOneFails) {
  Said said;
  BackgroundRunner runner({shell_job("killed", "step; kill -9 $$"), shell_job("broken", "exit 7"),
                           shell_job("good", kForEver)},
                          said.options());
  run_foreground(runner, 60, said, 5);
  const BackgroundOutcome outcome = runner.finish(false);
  EXPECT_EQ(outcome.jobs[0].end, BackgroundEnd::kFailed);
  EXPECT_THAT(outcome.jobs[0].why, HasSubstr("rank 0"));
  EXPECT_EQ(outcome.jobs[1].end, BackgroundEnd::kFailed);
  EXPECT_EQ(outcome.jobs[2].end, BackgroundEnd::kWithForeground);
  EXPECT_GT(outcome.jobs[2].steps, 0);
}

// As a rank that is asked to end does, it says that it is done.
TEST(BackgroundRunner, AJobThatSomebodyElseEndsIsNotDone) {
  const std::string ended = "step; step; kill -TERM $$; step";
  Said said;
  BackgroundJob counted = shell_job("counted", ended), all = shell_job("all", ended);
  counted.num_steps = 100'000;
  all.num_steps = 2;
  BackgroundRunner runner({counted, shell_job("endless", ended), all, shell_job("good", kForEver)},
                          said.options());
  run_foreground(runner, 20, said, 7);
  const BackgroundOutcome outcome = runner.finish(false);
  EXPECT_EQ(outcome.jobs[0].end, BackgroundEnd::kFailed);
  EXPECT_EQ(outcome.jobs[0].why, "stopped by another process after 2 of 100000 steps");
  EXPECT_EQ(outcome.jobs[1].end, BackgroundEnd::kFailed);
  EXPECT_EQ(outcome.jobs[1].why, "stopped by another process after 2 steps");
  EXPECT_EQ(outcome.jobs[2].end, BackgroundEnd::kDone);
  EXPECT_EQ(outcome.jobs[2].steps, 2);
  EXPECT_EQ(outcome.jobs[3].end, BackgroundEnd::kWithForeground);
}

TEST(BackgroundRunner, QuotaIsHeld) {
  Said said;
  // Doubles a string until it is ended.
  BackgroundRunner runner(
      {shell_job("greedy", "x=0123456789; while true; do x=$x$x; sleep 0.05; done")},
      said.options(30e6));
  run_foreground(runner, 1, said, 2);
  const BackgroundOutcome outcome = runner.finish(false);
  EXPECT_EQ(outcome.jobs[0].end, BackgroundEnd::kOverQuota);
  EXPECT_GT(outcome.jobs[0].memory_bytes, 30e6);
}

// A job of one rank beside a foreground of two: nobody comes to the second gate.
TEST(BackgroundRunner, TurnsOfAJobWithFewerRanksCount) {
  const TemporaryFolder folder;
  Said said;
  BackgroundOptions options = said.options();
  for (const char* name : {"first", "second"})
    options.gates.push_back(job::Gate::make(fmt::format("{}/{}", folder.path(), name)));
  job::GatePage& page = options.gates.front().page();
  page.guest = job::Guest::kKnown;
  BackgroundRunner runner({shell_job("narrow", kForEver)}, options);
  for (int i = 0; i < 60; ++i) {
    std::this_thread::sleep_for(5ms);
    if (page.grant > 0) page.used += 1'000'000;
    runner.foreground_step(0.005);
  }
  const BackgroundOutcome outcome = runner.finish(false);
  EXPECT_GT(outcome.mean_share, 0);
  EXPECT_GT(outcome.slowdown.num_alone, 10);
  EXPECT_GT(outcome.slowdown.num_shared, 20);
}

// What a step may give is worth changing between jobs for, or one in many gives it for all.
TEST(BackgroundRunner, ShortStepsGiveSeldomAndForAllOfThem) {
  for (const double change_s : {1e-6, 1.0}) {
    const TemporaryFolder folder;
    Said said;
    BackgroundOptions options = said.options();
    options.change_s = change_s;
    options.gates = {job::Gate::make(fmt::format("{}/gate", folder.path()))};
    job::GatePage& page = options.gates.front().page();
    page.guest = job::Guest::kKnown;
    BackgroundRunner runner({shell_job("other", kForEver)}, options);
    for (int i = 0; i < 40; ++i) {
      if (page.grant > 0) page.used += 100'000;
      runner.foreground_step(i == 0 ? 3.0 : 0.005);  // the one in which it starts
    }
    // A step alone takes 5 ms, of half of that may be given 0.65, or 0.85 by one for many.
    const bool each = change_s < 0.5;
    EXPECT_EQ(page.most_yield > 0, each);
    EXPECT_EQ(page.long_yield > 0, !each);
    EXPECT_LE(page.most_yield, 1'625'000);
    EXPECT_LE(page.long_yield, 2'125'000);
    EXPECT_GT(page.most_yield + page.long_yield, 500'000);
    const BackgroundOutcome outcome = runner.finish(false);
    EXPECT_EQ(outcome.steps_per_turn, each ? 1 : job::GateHost::kStepsPerTurn);
    EXPECT_EQ(outcome.start_s, 3.0);
    EXPECT_LT(outcome.slowdown.mean, 0.1);
  }
}

TEST(BackgroundRunner, NothingBeginsBeforeStepsAloneAreMeasured) {
  BackgroundRunner runner({shell_job("early", kForEver)},
                          {.pace = {.alone_steps = 50}, .control_group = false});
  run_foreground(runner, 30, Said{}, 0);
  const BackgroundOutcome outcome = runner.finish(true);
  EXPECT_EQ(outcome.jobs[0].end, BackgroundEnd::kNotBegun);
  EXPECT_EQ(outcome.slowdown.num_shared, 0);
}

}  // namespace
}  // namespace nereus::launch::runner_test
