#include "api/reports/train_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace nereus::api::train_report_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

app::TrainStep step_of(int number, double loss) {
  app::TrainStep step;
  step.step = number;
  step.loss = loss;
  step.seconds = 0.5;
  step.tokens = 1000;
  step.waits.pipeline = 0.1;
  step.waits.reduce = 0.05;
  step.waits.data = 0.0001;
  return step;
}

TEST(TrainReport, AStepInOneLine) {
  EXPECT_EQ(step_text(step_of(7, 3.25), true),
            "step 7  loss 3.2500  2,000 tokens/s  500 ms  waits 30 % (pipeline 20 %, gradients 10 "
            "%)");
  EXPECT_THAT(step_text(step_of(7, NAN), false), HasSubstr("loss nan  2,000 samples/s"));
}

TEST(TrainReport, LinesComeOnceASecondAndTheLastAlways) {
  std::vector<std::string> lines;
  StepLines::Clock::time_point now{};
  StepLines steps([&](const std::string& line) { lines.push_back(line.substr(0, 7)); },
                  [&] { return now; });
  for (int i = 0; i < 25; ++i) {
    steps.take(step_of(i, 1), true);
    now += std::chrono::milliseconds(100);
  }
  steps.finish();
  steps.finish();
  EXPECT_THAT(lines, ElementsAre("step 0 ", "step 10", "step 20", "step 24"));
}

TEST(TrainReport, WhatHappenedToTheMachinesOfAnElasticJob) {
  app::TrainAnswer answer;
  answer.steps = {step_of(0, 1)};
  answer.events = {{"started", 0, -1, "pp 2 dp 2", app::Morph{}},
                   {"lost", 4, 1, "a: its connection broke"},
                   {"morph", 4, -1, "pp 1 dp 3", app::Morph{.lost_steps = 3}}};
  const auto machines = [&]() -> std::string {
    const Table table = train_report(answer, false).tables.at(0);
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].key == "machines") return std::get<std::string>(table.rows[0][i].value);
    return "";
  };
  EXPECT_EQ(machines(), "1 morph: 1 loss, 0 notices, 0 slow machines; 3 steps done again");
  answer.events = {{"failure", 4, 2, "rank 2 was killed"}};
  EXPECT_EQ(machines(), "");
}

TEST(TrainReport, TheContractsFields) {
  app::TrainAnswer answer;
  answer.steps = {step_of(3, 4.5), step_of(4, NAN)};
  answer.step_s = 0.5;
  answer.rate = 2000;
  answer.events = {{"failure", 4, 2, "rank 2 was killed"}};
  const auto json = nlohmann::json::parse(train_report(answer, true).json);
  EXPECT_EQ(json.at("steps"), 2);
  EXPECT_EQ(json.at("first_step"), 3);
  EXPECT_TRUE(json.at("final_loss").is_null());
  EXPECT_EQ(json.at("losses")[0], 4.5);
  EXPECT_TRUE(json.at("losses")[1].is_null());
  EXPECT_EQ(json.at("step_s"), 0.5);
  EXPECT_EQ(json.at("tokens_per_s"), 2000);
  EXPECT_EQ(json.at("events")[0].at("rank"), 2);
  EXPECT_TRUE(json.at("compare").empty());
  answer.counts_tokens = false;
  EXPECT_TRUE(nlohmann::json::parse(train_report(answer, false).json).contains("samples_per_s"));
}

}  // namespace
}  // namespace nereus::api::train_report_test
