#include "logs/train_log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "logs/log_text.hpp"
#include "logs/logs_testing.hpp"

namespace nereus::logs::train_log_test {
namespace {

using testing::WrittenRun;

std::string code_of(const std::string& text) {
  try {
    read_log(text, "x.log");
  } catch (const Errors& errors) {
    return errors.list().front().code;
  }
  return "read";
}

const LayoutFile* layout(const TrainLog& log, const std::string& ending) {
  for (const LayoutFile& file : log.layout)
    if (file.name.ends_with(ending)) return &file;
  return nullptr;
}

TEST(TrainLog, EachTrainerIsFoundByWhatItPrints) {
  const WrittenRun run;
  EXPECT_EQ(read_log(testing::megatron_log(run), "x").trainer, Trainer::kMegatron);
  EXPECT_EQ(read_log(testing::deepspeed_log(run), "x").trainer, Trainer::kDeepspeed);
  EXPECT_EQ(read_log(testing::torchtitan_log(run), "x").trainer, Trainer::kTorchtitan);
  EXPECT_EQ(read_log(testing::nemo_log(run), "x").trainer, Trainer::kNemo);
  EXPECT_EQ(read_log(testing::huggingface_log(run), "x").trainer, Trainer::kHuggingFace);
  EXPECT_FALSE(is_log("model,layers\ngpt2,12\n"));
}

TEST(TrainLog, StepsAreTheMedianAfterTheWarmUp) {
  const WrittenRun run{.steps = {9.0, 1.0, 1.2, 1.4, 1.0, 1.0}};
  const Steady megatron = steady(read_log(testing::megatron_log(run), "x"));
  EXPECT_EQ(megatron.dropped, 1);
  EXPECT_EQ(megatron.used, 5);
  EXPECT_NEAR(megatron.value, 1.0, 1e-9);
  EXPECT_NEAR(steady(read_log(testing::nemo_log(run), "x")).value, 1.0, 1e-9);
  EXPECT_NEAR(steady(read_log(testing::deepspeed_log(run), "x")).value, run.global_batch / 1.0,
              1e-9);
  EXPECT_NEAR(steady(read_log(testing::torchtitan_log(run), "x")).value,
              double(run.seq) * run.global_batch / run.devices, 0.5);
  EXPECT_NEAR(steady(read_log(testing::huggingface_log(run), "x")).value, 1.0, 1e-2);
  const WrittenRun once{.steps = {2.0}};
  const Steady only = steady(read_log(testing::megatron_log(once), "x"));
  EXPECT_EQ(only.dropped, 0);
  EXPECT_NEAR(only.value, 2.0, 1e-9);
}

TEST(TrainLog, MemoryAndDevicesAreRead) {
  const WrittenRun run{.devices = 8, .memory_gib = 31};
  for (const std::string& text :
       {testing::megatron_log(run), testing::deepspeed_log(run), testing::torchtitan_log(run)}) {
    const TrainLog log = read_log(text, "x");
    EXPECT_NEAR(log.memory / (1024.0 * 1024 * 1024), 31, 1e-6) << title(log.trainer);
    EXPECT_EQ(log.devices, 8) << title(log.trainer);
  }
  EXPECT_EQ(read_log(testing::nemo_log(run), "x").devices, 8);
  EXPECT_EQ(read_log(testing::huggingface_log(run), "x").devices, 8);
  EXPECT_EQ(read_log(testing::torchtitan_log(run), "x").device, "NVIDIA H100 80GB HBM3");
}

TEST(TrainLog, TheLayoutKeepsTheLogsLineNumbers) {
  const std::string text = testing::megatron_log({});
  const TrainLog log = read_log(text, "x.log");
  const LayoutFile* script = layout(log, ".sh");
  ASSERT_NE(script, nullptr);
  const auto line_of = [](const std::string& in, const std::string& what) {
    return std::count(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(in.find(what)), '\n');
  };
  EXPECT_EQ(line_of(script->text, "--hidden-size 2048"), line_of(text, " hidden_size "));
  EXPECT_NE(script->text.find("--disable-bias-linear"), std::string::npos);
  EXPECT_NE(script->text.find("--padded-vocab-size 32000"), std::string::npos);
  // Values that say nothing without their switch.
  EXPECT_EQ(script->text.find("--num-query-groups"), std::string::npos);
  EXPECT_EQ(script->text.find("--kv-lora-rank"), std::string::npos);
  EXPECT_EQ(script->text.find("--num-experts"), std::string::npos);
}

TEST(TrainLog, BothFormsOfTorchtitansConfigurationAreTheSame) {
  const TrainLog json = read_log(testing::torchtitan_log({.tp = 2}), "x");
  const TrainLog python = read_log(testing::torchtitan_log({.tp = 2}, true), "x");
  ASSERT_NE(layout(json, ".toml"), nullptr);
  ASSERT_NE(layout(python, ".toml"), nullptr);
  for (const char* line :
       {"\"parallelism\".\"tensor_parallel_degree\" = 2", "\"model\".\"flavor\" = \"8B\"",
        "\"activation_checkpoint\".\"mode\" = \"selective\""}) {
    EXPECT_NE(layout(json, ".toml")->text.find(line), std::string::npos) << line;
    EXPECT_NE(layout(python, ".toml")->text.find(line), std::string::npos) << line;
  }
}

TEST(TrainLog, AHuggingFaceLogWithoutABarGivesTheMean) {
  std::string text = testing::huggingface_log({.steps = {1.0, 1.0}});
  text.erase(text.find("  0%|"), text.find("{'train_runtime'") - text.find("  0%|"));
  const TrainLog log = read_log(text, "x");
  EXPECT_TRUE(log.is_mean);
  ASSERT_EQ(log.steps.size(), 1u);
  EXPECT_NEAR(log.steps.front().value, 1.0, 1e-6);
}

TEST(TrainLog, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_EQ(code_of("nothing of the kind\n"), "log.unknown");
  EXPECT_EQ(code_of("***** Running training *****\n"), "log.no-steps");
  std::string text = testing::megatron_log({});
  const std::size_t at = text.find("1100.0");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 6, "fast");
  try {
    read_log(text, "x.log");
    FAIL() << "a word was read as a number";
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list().front().code, "log.value");
    EXPECT_EQ(errors.list().front().where.line,
              1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
}

TEST(LogText, PythonLiteralsBecomeJson) {
  EXPECT_EQ(json_of_python("{'a': None, 'b': [True, 1.5e3], 'c': \"it's\", 'd': 'a \"b\"'}"),
            R"({"a": null, "b": [true, 1.5e3], "c": "it's", "d": "a \"b\""})");
  EXPECT_EQ(json_of_python("{'k': torch.bfloat16, 't': (1, 2)}"),
            R"({"k": "torch.bfloat16", "t": [1, 2]})");
}

TEST(LogText, ColoursAndProgressBarsAreTakenApart) {
  const LogText text("\x1b[31mred\x1b[0m\rsecond\nthird\n", "x");
  ASSERT_EQ(text.lines().size(), 3u);
  EXPECT_EQ(text.lines()[0].text, "red");
  EXPECT_EQ(text.lines()[1].number, 1);
  EXPECT_EQ(text.lines()[2].number, 2);
}

}  // namespace
}  // namespace nereus::logs::train_log_test
