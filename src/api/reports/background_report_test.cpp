#include "api/reports/background_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nereus::api::background_report_test {
namespace {

using launch::BackgroundEnd;
using launch::BackgroundOutcome;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// One job in shares of the time, until the foreground ended.
BackgroundOutcome outcome_of(std::int64_t steps, double step_s, double alone_step_s) {
  BackgroundOutcome outcome;
  outcome.mean_share = 0.824;
  outcome.lowest_priority = true;
  outcome.jobs = {{.name = "1 (gpt2)",
                   .end = BackgroundEnd::kWithForeground,
                   .steps = steps,
                   .seconds = 10,
                   .step_s = step_s,
                   .alone_step_s = alone_step_s,
                   .work = 10}};
  return outcome;
}

std::vector<std::string> notes_of(const BackgroundOutcome& outcome) {
  return background_tables(outcome)[1].notes;
}

nlohmann::json share_of(const BackgroundOutcome& outcome) {
  return nlohmann::json::parse(background_json(outcome))["jobs"][0]["share"];
}

TEST(BackgroundReport, AJobWithoutAStepIsToldWhatWouldHelp) {
  const auto usual = HasSubstr("--background-priority usual");
  BackgroundOutcome outcome = outcome_of(0, 0, 0);
  EXPECT_THAT(notes_of(outcome), Contains(usual));
  outcome.lowest_priority = false;
  EXPECT_THAT(notes_of(outcome), Not(Contains(usual)));
  EXPECT_THAT(notes_of(outcome_of(1, 0, 0)), Not(Contains(usual)));
  outcome = outcome_of(0, 0, 0);
  outcome.mean_share = 0.02;
  EXPECT_THAT(notes_of(outcome), Not(Contains(usual)));
  EXPECT_THAT(notes_of(outcome),
              Contains(HasSubstr("in the 200 ms for which it was allowed to run")));
  outcome = outcome_of(0, 0, 0);
  outcome.jobs[0].end = BackgroundEnd::kNotBegun;
  EXPECT_THAT(notes_of(outcome), Not(Contains(usual)));
}

TEST(BackgroundReport, NoJobIsFasterThanAlone) {
  EXPECT_EQ(share_of(outcome_of(9, 0.2, 0.1)), 0.5);
  const BackgroundOutcome disturbed = outcome_of(9, 0.1, 0.2);
  EXPECT_TRUE(share_of(disturbed).is_null());
  EXPECT_THAT(notes_of(disturbed), Contains(HasSubstr("something else disturbed them")));
  EXPECT_TRUE(share_of(outcome_of(9, 0.1, 0)).is_null());
  EXPECT_THAT(notes_of(outcome_of(9, 0.1, 0)), Not(Contains(HasSubstr("disturbed"))));
}

TEST(BackgroundReport, TheShareOfTimeSaysWhatItIs) {
  BackgroundOutcome outcome = outcome_of(9, 0.2, 0.1);
  EXPECT_EQ(background_tables(outcome)[0].columns.back().title, "background was allowed to run");
  outcome.num_pieces = 7;
  EXPECT_EQ(background_tables(outcome)[0].columns.back().title, "background ran");
}

}  // namespace
}  // namespace nereus::api::background_report_test
