#include "calibrate/validation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/units.hpp"
#include "calibrate/calibrate_testing.hpp"
#include "calibrate/evaluate_runs.hpp"

namespace nereus::calibrate::validation_test {
namespace {

using testing::make_library;
using testing::make_runs;
using testing::Row;

const cost::StackLibrary& library() {
  static const cost::StackLibrary known = make_library(R"(
[stack.generic]
[stack.careful]
inherits = "generic"
[stack.careful.defaults]
recompute_as_needed = true
[stack.rank0]
inherits = "generic"
memory_report = "first-rank-allocated"
[stack.rank0.parameters]
memory_slack = 1.2
)");
  return known;
}

// Rows whose predictions lie this much above (or below) what was "measured".
RunTable table_with_errors(std::vector<Row> rows, const std::vector<double>& errors) {
  RunTable table = make_runs(rows, library(), "generic");
  EXPECT_EQ(table.runs.size(), errors.size());
  for (std::size_t i = 0; i < errors.size(); ++i)
    table.runs[i].step = predict(table.runs[i], library()).step / (1 + errors[i]);
  return table;
}

constexpr double kTight = 1e-9;

TEST(Validate, StepTimeErrorsByHand) {
  const Validation v =
      validate(table_with_errors({{.tp = 1}, {.tp = 2}, {.tp = 4}, {.tp = 8}}, {0.1, -0.2, 0.5, 0}),
               library());
  EXPECT_EQ(v.rows, 4);
  EXPECT_EQ(v.used, 4);
  EXPECT_EQ(v.overall.used, 4);
  EXPECT_NEAR(v.overall.mean_abs_error, 0.2, kTight);
  EXPECT_NEAR(v.overall.median_abs_error, 0.15, kTight);
  EXPECT_NEAR(v.overall.bias, 0.1, kTight);
  EXPECT_NEAR(v.overall.mean_log_error, (std::log(1.1) - std::log(0.8) + std::log(1.5)) / 4,
              kTight);
}

TEST(Validate, EverySetApart) {
  const Validation v =
      validate(table_with_errors({{.tp = 1, .set = "a"}, {.tp = 2, .set = "a"}, {.set = "b"}},
                                 {0.1, 0.3, -0.4}),
               library());
  ASSERT_EQ(v.sets.size(), 2u);
  EXPECT_EQ(v.sets.at("a").errors.used, 2);
  EXPECT_NEAR(v.sets.at("a").errors.mean_abs_error, 0.2, kTight);
  EXPECT_EQ(v.sets.at("b").errors.used, 1);
  EXPECT_NEAR(v.sets.at("b").errors.mean_abs_error, 0.4, kTight);
  EXPECT_NEAR(v.sets.at("b").errors.bias, -0.4, kTight);
  EXPECT_NEAR(v.overall.mean_abs_error, 0.8 / 3, kTight);
}

TEST(Validate, SuspectRowsAreScoredApart) {
  const Validation v = validate(
      table_with_errors({{.tp = 1}, {.tp = 2}, {.tp = 4, .suspect = "slow-twin"}}, {0.1, 0.2, 3}),
      library());
  EXPECT_EQ(v.used, 2);
  EXPECT_NEAR(v.overall.mean_abs_error, 0.15, kTight);
  EXPECT_EQ(v.suspect.at("lab").used, 1);
  EXPECT_NEAR(v.suspect.at("lab").mean_abs_error, 3, kTight);
  EXPECT_NEAR(v.sets.at("lab").all_mean_abs_error, 1.1, kTight);
  EXPECT_NEAR(v.sets.at("lab").all_median_abs_error, 0.2, kTight);
}

// Measured 2, 4, 4 and 8 times the time of the FLOPs at peak. With one MFU of 1/4 the first row is
// predicted to take twice as long, the last one half as long: (1 + 0 + 0 + 1/2) / 4; 1/2 or 1/8 is
// worse.
TEST(Validate, NullModelIsTheBestSingleUtilization) {
  RunTable table = make_runs({{.hidden = 1024}, {.hidden = 2048}, {.seq = 1024}, {.layers = 16}},
                             library(), "generic");
  const double slower[] = {2, 4, 4, 8};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& run = table.runs[i];
    const double flops = run.model->training_flops() * run.degrees.global_batch;
    table.runs[i].step = slower[i] * flops / (312e12 * 8);
  }
  const Validation v = validate(table, library());
  EXPECT_NEAR(v.sets.at("lab").null_mean_abs_error, 1.5 / 4, kTight);
}

// --- ranking -------------------------------------------------------------------------------------

// Sets the measured steps of these runs, given in the order of their predictions.
void measure_in_order(std::vector<Run*> runs, const std::vector<double>& measured) {
  ASSERT_EQ(runs.size(), measured.size());
  std::map<Run*, double> predicted;
  for (Run* run : runs) predicted[run] = predict(*run, library()).step;
  std::sort(runs.begin(), runs.end(), [&](Run* a, Run* b) { return predicted[a] < predicted[b]; });
  for (std::size_t i = 1; i < runs.size(); ++i)
    ASSERT_LT(predicted[runs[i - 1]], predicted[runs[i]]) << "the test needs distinct predictions";
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i]->step = measured[i];
}

std::vector<Run*> runs_of(RunTable& table, const std::string& model) {
  std::vector<Run*> runs;
  for (auto& run : table.runs)
    if (run.model_name == model && run.suspect.empty()) runs.push_back(&run);
  return runs;
}

TEST(Validate, RankingRegretAndTauByHand) {
  RunTable table = make_runs({{.model = "a", .tp = 1},
                              {.model = "a", .tp = 2},
                              {.model = "a", .tp = 4},
                              {.model = "a", .tp = 8},
                              {.model = "a", .tp = 1, .micro_batch = 2, .suspect = "duplicate"},
                              {.model = "b", .tp = 1, .pp = 2},
                              {.model = "b", .tp = 2, .pp = 2},
                              {.model = "b", .tp = 4, .pp = 2},
                              {.model = "b", .tp = 8},
                              {.model = "c", .tp = 1},
                              {.model = "c", .tp = 2},
                              {.model = "c", .tp = 4}},
                             library(), "generic");
  ASSERT_EQ(table.runs.size(), 12u);
  // The run predicted best took a quarter longer than the next; the other pairs are in order.
  measure_in_order(runs_of(table, "a"), {1.25, 1.0, 1.5, 2.0});
  table.runs[4].step = 0.1;  // suspect: neither the best nor in a pair
  measure_in_order(runs_of(table, "b"), {1, 2, 3, 4});
  measure_in_order(runs_of(table, "c"), {3, 2, 1});  // three are no group
  const Validation v = validate(table, library());
  EXPECT_EQ(v.ranking.groups, 2);
  EXPECT_NEAR(v.ranking.mean_regret, 0.125, kTight);
  EXPECT_NEAR(v.ranking.median_regret, 0.125, kTight);
  EXPECT_NEAR(v.ranking.kendall_tau, (4.0 / 6 + 1) / 2, kTight);
}

TEST(Validate, ABackwardRankingHasTauMinusOne) {
  RunTable table = make_runs({{.tp = 1}, {.tp = 2}, {.tp = 4}, {.tp = 8}}, library(), "generic");
  measure_in_order(runs_of(table, "m"), {4, 3, 2, 1});
  const Validation v = validate(table, library());
  EXPECT_NEAR(v.ranking.kendall_tau, -1, kTight);
  EXPECT_NEAR(v.ranking.mean_regret, 3, kTight);
}

// --- memory and feasibility ----------------------------------------------------------------------

TEST(Validate, MemoryErrorHasAFloorOfFourGib) {
  RunTable table =
      make_runs({{.layers = 1, .hidden = 128, .seq = 128}, {.hidden = 4096}}, library(), "generic");
  const double small = predict(table.runs[0], library()).memory.total;
  const double large = predict(table.runs[1], library()).memory.total;
  ASSERT_LT(small, 2 * kGiB);
  ASSERT_GT(large, 8 * kGiB);
  table.runs[0].memory = small + 1 * kGiB;  // off by 1 of the floor's 4
  table.runs[1].memory = large / 1.1;       // off by a tenth of itself
  const Validation v = validate(table, library());
  EXPECT_EQ(v.memory.rows, 2);
  EXPECT_NEAR(v.memory.mean_abs_error, (0.25 + 0.1) / 2, kTight);
  EXPECT_NEAR(v.memory.median_abs_error, (0.25 + 0.1) / 2, kTight);
}

TEST(Validate, MemoryIsComparedWithWhatTheStackReports) {
  RunTable table = make_runs({{.tp = 1}}, library(), "rank0");
  const cost::Prediction p = predict(table.runs[0], library());
  EXPECT_NEAR(p.memory.total, 1.2 * p.memory.first_rank_allocated, 1e-6 * p.memory.total);
  table.runs[0].memory = p.memory.first_rank_allocated;
  const Validation v = validate(table, library());
  EXPECT_NEAR(v.memory.mean_abs_error, 0, kTight);
  EXPECT_EQ(v.results[0].predicted_memory, p.memory.first_rank_allocated);
}

TEST(Validate, RowsWithoutReportedMemoryDoNotCount) {
  const Validation v = validate(make_runs({{.tp = 1}}, library(), "generic"), library());
  EXPECT_EQ(v.memory.rows, 0);
  EXPECT_EQ(v.memory.mean_abs_error, 0);
}

TEST(Validate, FeasibilityCountsFitAndBuildability) {
  const int huge = 16384;  // 8 blocks of 12 h^2: 26 G parameters on one device
  const Validation v =
      validate(make_runs({{.tp = 1},
                          {.hidden = huge},
                          {.tp = 1, .metric = "failed"},
                          {.hidden = huge, .metric = "failed"},
                          // Twelve heads on eight tensor ranks, and sixteen stages of eight blocks:
                          // small, but nobody can build them.
                          {.hidden = 768, .heads = 12, .tp = 8, .metric = "failed"},
                          {.gpus = 16, .pp = 16, .metric = "failed"}},
                         library(), "generic"),
               library());
  EXPECT_EQ(v.feasibility.ran_rows, 2);
  EXPECT_EQ(v.feasibility.ran_predicted_to_fit, 1);
  EXPECT_EQ(v.feasibility.failed_rows, 4);
  EXPECT_EQ(v.feasibility.failed_predicted_not_to_fit, 3);
  EXPECT_EQ(v.used, 2) << "failed runs have no error";
  EXPECT_TRUE(v.results[4].prediction.fits);
  EXPECT_FALSE(v.results[4].buildable);
  EXPECT_FALSE(v.results[5].buildable);
  EXPECT_TRUE(v.results[2].buildable);
}

// Long sequences that fit only when everything is recomputed, and a model that never does.
TEST(Validate, AStackThatRecomputesAsNeededFitsWhereRecomputeFits) {
  const std::vector<Row> rows = {{.seq = 131072}, {.hidden = 16384}};
  RunTable plain = make_runs(rows, library(), "generic");
  RunTable careful = make_runs(rows, library(), "careful");
  ASSERT_FALSE(predict(plain.runs[0], library()).fits);
  EXPECT_EQ(validate(plain, library()).feasibility.ran_predicted_to_fit, 0);
  const Validation v = validate(careful, library());
  EXPECT_EQ(v.feasibility.ran_predicted_to_fit, 1);
  EXPECT_TRUE(v.results[0].fits);
  EXPECT_FALSE(v.results[0].prediction.fits) << "the prediction itself is of what was stated";
  EXPECT_FALSE(v.results[1].fits);
  careful.runs[0].recompute_stated = true;  // the row says none
  EXPECT_EQ(validate(careful, library()).feasibility.ran_predicted_to_fit, 0);
}

TEST(Validate, NothingGivesNothing) {
  const Validation v = validate({}, library());
  EXPECT_EQ(v.used, 0);
  EXPECT_EQ(v.overall.mean_abs_error, 0);
  EXPECT_EQ(v.ranking.groups, 0);
  EXPECT_TRUE(v.sets.empty());
}

TEST(Validate, ResultsKeepTheOrderOfTheRuns) {
  const RunTable table = make_runs({{.tp = 8}, {.tp = 1}, {.tp = 4}}, library(), "generic");
  const Validation v = validate(table, library());
  ASSERT_EQ(v.results.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(v.results[i].run, &table.runs[i]);
    EXPECT_EQ(v.results[i].prediction.step, predict(table.runs[i], library()).step);
  }
}

}  // namespace
}  // namespace nereus::calibrate::validation_test
