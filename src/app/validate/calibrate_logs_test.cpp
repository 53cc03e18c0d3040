// Logs of each trainer, written in the form that it prints, calibrate without a table.
#include <gtest/gtest.h>

#include <functional>

#include "app/validate/calibrate.hpp"
#include "base/temporary_folder.hpp"
#include "calibrate/evaluate_runs.hpp"
#include "logs/logs_testing.hpp"
#include "stack/stack_file.hpp"

namespace nereus::app::calibrate_logs_test {
namespace {

using logs::testing::WrittenRun;
using Write = std::function<std::string(const WrittenRun&)>;

// Runs that differ in what decides their time; all fit.
std::vector<WrittenRun> different_runs() {
  WrittenRun base;
  base.layers = 24;
  base.hidden = 4096;
  base.heads = 32;
  base.ffn = 11008;
  std::vector<WrittenRun> runs(5, base);
  runs[1].seq = 4096;
  runs[1].micro_batch = 1;
  runs[2].global_batch = 256;
  runs[3].seq = 1024;
  runs[3].micro_batch = 4;
  runs[4].seq = 4096;
  runs[4].global_batch = 128;
  runs[4].micro_batch = 1;
  return runs;
}

class CalibrateLogs : public ::testing::Test {
 protected:
  static LogRun log_run(const Write& write, const WrittenRun& run, const LogRequest& request) {
    return LogRun(logs::read_log(write(run), "run.log"), request);
  }

  // Logs of software that takes `factor` times as long as `like` would, given to calibrate.
  CalibrateAnswer calibrate_slower(const Write& write, const std::string& like, double factor,
                                   LogRequest request = {}) {
    const cost::StackLibrary& library = cost::builtin_stacks();
    CalibrateRequest calibration;
    int number = 0;
    for (WrittenRun run : different_runs()) {
      const calibrate::Run as = log_run(write, run, request).as(library, like);
      const double step = factor * calibrate::predict(as, library).step;
      run.steps = {3 * step, step, 1.02 * step, 0.98 * step, step, step};
      calibration.files.push_back(
          folder_.write("run" + std::to_string(number++) + ".log", write(run)));
    }
    calibration.logs = request;
    return calibrate(calibration, [](const Progress&) {});
  }

  static double worst_error(const CalibrateAnswer& answer) {
    double worst = 0;
    for (const auto& [set, errors] : answer.fit_error)
      worst = std::max(worst, errors.mean_abs_error);
    return worst;
  }

  TemporaryFolder folder_;
};

void expect_kept(const CalibrateAnswer& answer, const std::string& parent) {
  EXPECT_EQ(answer.used, 5);
  ASSERT_EQ(answer.new_stacks.size(), 1u);
  EXPECT_EQ(answer.new_stacks[0].parent, parent);
  EXPECT_TRUE(answer.new_stacks[0].parent_by_name);
  EXPECT_TRUE(answer.new_stacks[0].time.kept);
  EXPECT_LT(answer.new_stacks[0].time.calibrated, answer.new_stacks[0].time.parent / 2);
  ASSERT_EQ(answer.logs.size(), 5u);
  EXPECT_EQ(answer.logs[0].dropped, 1);
}

TEST_F(CalibrateLogs, OfMegatron) {
  const CalibrateAnswer answer =
      calibrate_slower(logs::testing::megatron_log, "megatron", 1.35, {.gpu = "h100"});
  expect_kept(answer, "megatron");
  EXPECT_LT(worst_error(answer), 0.12);
}

TEST_F(CalibrateLogs, OfNemo) {
  const CalibrateAnswer answer =
      calibrate_slower(logs::testing::nemo_log, "nemo", 1.35, {.gpu = "h100"});
  ASSERT_EQ(answer.new_stacks.size(), 1u);
  // Or one of its releases.
  EXPECT_TRUE(answer.new_stacks[0].parent.starts_with("nemo"));
  EXPECT_TRUE(answer.new_stacks[0].time.kept);
  EXPECT_LT(worst_error(answer), 0.12);
}

TEST_F(CalibrateLogs, OfTorchtitanWhichNamesItsDevice) {
  const CalibrateAnswer answer = calibrate_slower(
      [](const WrittenRun& run) { return logs::testing::torchtitan_log(run); }, "torchtitan", 1.5);
  ASSERT_EQ(answer.new_stacks.size(), 1u);
  EXPECT_TRUE(answer.new_stacks[0].parent_by_name);
  EXPECT_TRUE(answer.new_stacks[0].parent.starts_with("torchtitan"));
  EXPECT_LT(worst_error(answer), 0.15);
  EXPECT_EQ(answer.logs[0].devices, 8);
}

TEST_F(CalibrateLogs, OfDeepspeedWithTheModelNamed) {
  const CalibrateAnswer answer =
      calibrate_slower(logs::testing::deepspeed_log, "generic", 1.8,
                       {.model = "llama3-8b", .seq = 4096, .gpu = "h100"});
  ASSERT_EQ(answer.new_stacks.size(), 1u);
  EXPECT_FALSE(answer.new_stacks[0].parent_by_name);
  EXPECT_LT(worst_error(answer), 0.2);
}

TEST_F(CalibrateLogs, OfHuggingFaceTrainers) {
  const CalibrateAnswer answer =
      calibrate_slower(logs::testing::huggingface_log, "generic", 1.8, {.gpu = "h100"});
  ASSERT_EQ(answer.new_stacks.size(), 1u);
  EXPECT_LT(worst_error(answer), 0.2);
}

TEST_F(CalibrateLogs, TheLayoutIsThatOfTheRun) {
  WrittenRun run;
  run.tp = 2;
  const cost::StackLibrary& library = cost::builtin_stacks();
  const calibrate::Run megatron =
      log_run(logs::testing::megatron_log, run, {.gpu = "a100"}).as(library, "megatron");
  EXPECT_EQ(megatron.degrees.tp, 2);
  EXPECT_EQ(megatron.degrees.dp, 4);
  EXPECT_EQ(megatron.degrees.zero, 1);
  EXPECT_TRUE(megatron.degrees.sequence_parallel);
  EXPECT_EQ(megatron.model->transformer->vocab, 32000);
  EXPECT_FALSE(megatron.model->transformer->bias);
  const calibrate::Run nemo =
      log_run(logs::testing::nemo_log, run, {.gpu = "a100"}).as(library, "nemo");
  EXPECT_EQ(*nemo.model, *megatron.model);
  EXPECT_EQ(nemo.degrees, megatron.degrees);
  const calibrate::Run hugging =
      log_run(logs::testing::huggingface_log, run, {.gpu = "a100"}).as(library, "generic");
  EXPECT_EQ(hugging.degrees.zero, 3);
  EXPECT_EQ(hugging.degrees.micro_batch, 2);
  EXPECT_EQ(hugging.degrees.global_batch, 64);
  EXPECT_EQ(hugging.model->transformer->seq, 2048);
  const calibrate::Run deepspeed =
      log_run(logs::testing::deepspeed_log, run, {.model = "gpt2", .gpu = "a100"})
          .as(library, "generic");
  EXPECT_EQ(deepspeed.degrees.zero, 3);
  EXPECT_NEAR(deepspeed.step, 1.0, 0.1);
}

TEST_F(CalibrateLogs, OneRunLeavesTheParentsNumbers) {
  CalibrateRequest request;
  request.files = {folder_.write("run.log", logs::testing::megatron_log({}))};
  request.logs.gpu = "h100";
  const CalibrateAnswer answer = calibrate(request, [](const Progress&) {});
  ASSERT_EQ(answer.new_stacks.size(), 1u);
  EXPECT_FALSE(answer.new_stacks[0].kept);
  EXPECT_EQ(answer.new_stacks[0].parent, "megatron");
  EXPECT_EQ(answer.used, 1);
}

TEST_F(CalibrateLogs, WhatIsMissingIsSaid) {
  const auto code = [&](const std::string& text, const LogRequest& request) -> std::string {
    try {
      LogRun(logs::read_log(text, "run.log"), request);
    } catch (const Errors& errors) {
      return errors.list().front().code;
    }
    return "read";
  };
  EXPECT_EQ(code(logs::testing::megatron_log({}), {}), "log.no-device");
  EXPECT_EQ(code(logs::testing::megatron_log({}), {.gpu = "h1000"}), "cluster.unknown-device");
  std::string bare = logs::testing::torchtitan_log({});
  bare.erase(bare.find("Running with configs"), bare.find("}\n}\n") + 4 - bare.find("Running"));
  EXPECT_EQ(code(bare, {}), "log.no-layout");
}

}  // namespace
}  // namespace nereus::app::calibrate_logs_test
