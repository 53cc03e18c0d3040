#include "calibrate/leave_out.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "calibrate/calibrate_testing.hpp"
#include "calibrate/evaluate_runs.hpp"
#include "calibrate/validation.hpp"

namespace nereus::calibrate::leave_out_test {
namespace {

using cost::Scope;
using cost::StackLibrary;
using testing::make_library;
using testing::make_runs;
using testing::Row;

const Scope kA100{Scope::Kind::kDevice, "A100"};

StackLibrary one_number(double spread) {
  return make_library(fmt::format(
      "[stack.generic]\n[device.A100.fit]\ngemm_efficiency = {{ prior = 0.6, spread = {} }}\n",
      spread));
}

// Twelve rows of each model, all of which reach its share of the peak.
RunTable measured(const StackLibrary& library,
                  const std::vector<std::pair<std::string, double>>& models) {
  std::vector<Row> rows;
  for (const auto& [model, efficiency] : models)
    for (int tp : {1, 2, 4, 8})
      for (int micro_batch : {1, 2, 4})
        rows.push_back({.model = model,
                        .layers = 16,
                        .hidden = 8192,
                        .heads = 64,
                        .tp = tp,
                        .micro_batch = micro_batch,
                        .set = model.substr(0, model.find('/'))});
  RunTable table = make_runs(rows, library, "generic");
  for (std::size_t i = 0; i < table.runs.size(); ++i) {
    StackLibrary truth = library;
    truth.set(kA100, "gemm_efficiency", models[i / 12].second);
    table.runs[i].step = predict(table.runs[i], truth).step;
  }
  return table;
}

double efficiency(const StackLibrary& library) {
  StackLibrary copy = library;
  return *copy.find(kA100, "gemm_efficiency");
}

TEST(LeaveOut, AFoldLearnsOnlyFromTheOthers) {
  const StackLibrary library = one_number(10);
  const RunTable table = measured(library, {{"lab/fast", 0.8}, {"lab/slow", 0.4}});
  const LeftOut out = leave_out(library, table.runs);
  ASSERT_EQ(out.groups, 2);
  ASSERT_EQ(out.libraries.size(), 2u);
  EXPECT_NEAR(efficiency(*out.library_of_runs().front()), 0.4, 0.01);
  EXPECT_NEAR(efficiency(*out.library_of_runs().back()), 0.8, 0.01);
  // Validation predicts each run with the library of its own fold.
  const Validation v = validate(table, out.library_of_runs());
  for (std::size_t i = 0; i < table.runs.size(); ++i)
    EXPECT_DOUBLE_EQ(v.results[i].prediction.step,
                     predict(table.runs[i], *out.library_of_runs()[i]).step);
  EXPECT_GT(v.overall.mean_abs_error, 0.4);
}

TEST(LeaveOut, AFoldIsTheFitOfItsRowsFromTheDataSheets) {
  const StackLibrary library = one_number(0.2);  // so that the prior counts
  const RunTable table =
      measured(library, {{"lab/a", 0.8}, {"lab/b", 0.4}, {"lab/c", 0.7}, {"lab/d", 0.5}});
  const LeftOut out = leave_out(library, table.runs, {.folds = 2});
  ASSERT_EQ(out.libraries.size(), 2u);
  for (int fold = 0; fold < 2; ++fold) {
    std::vector<const calibrate::Run*> seen;
    for (std::size_t i = 0; i < table.runs.size(); ++i)
      if (out.fold_of[i] != fold) seen.push_back(&table.runs[i]);
    EXPECT_EQ(seen.size(), 24u);
    EXPECT_NEAR(efficiency(out.libraries[static_cast<std::size_t>(fold)]),
                efficiency(fit_all(library, seen).library), 1e-3);
  }
}

TEST(LeaveOut, WhatOnlyTheLeftOutRowsTellIsUnknownToTheirFit) {
  StackLibrary library = one_number(10);
  cost::overlay_stacks(library, "[device.A100.parameters]\ngemm_efficiency = 0.77\n", "fit.toml");
  const RunTable table = measured(library, {{"lab/only", 0.8}});
  const LeftOut out = leave_out(library, table.runs, {.fit = {.start_at_priors = false}});
  StackLibrary alone = out.libraries.front();
  EXPECT_NE(library.free.front().prior, 0.77);
  EXPECT_DOUBLE_EQ(efficiency(alone), library.free.front().prior);
  // Where uninformed numbers are kept, it is the given value.
  const LeftOut kept =
      leave_out(library, table.runs, {.fit = {.start_at_priors = false, .keep_uninformed = true}});
  EXPECT_DOUBLE_EQ(efficiency(kept.libraries.front()), 0.77);
}

TEST(LeaveOut, AGroupIsAModelOnADeviceInAPrecisionAcrossSets) {
  const StackLibrary library = one_number(1);
  RunTable table = make_runs({{.model = "Llama-2 70B", .set = "x"},
                              {.model = "llama2-70b", .gpu = "a100_40gb", .set = "y"},
                              {.model = "llama2-70b", .gpu = "h100_80gb", .set = "y"}},
                             library, "generic");
  ASSERT_EQ(table.runs.size(), 3u);
  EXPECT_EQ(left_out_group(table.runs[0], LeftOutBy::kGroups), "llama270b|A100|bf16");
  EXPECT_EQ(left_out_group(table.runs[1], LeftOutBy::kGroups), "llama270b|A100|bf16");
  EXPECT_EQ(left_out_group(table.runs[2], LeftOutBy::kGroups), "llama270b|H100|bf16");
  table.runs[1].degrees.precision = cluster::Precision::kFp8;
  EXPECT_EQ(left_out_group(table.runs[1], LeftOutBy::kGroups), "llama270b|A100|fp8");
  EXPECT_EQ(left_out_group(table.runs[1], LeftOutBy::kSources), "y");
}

TEST(LeaveOut, EveryFoldLeavesOutAPartOfEachSetAndNoSourceIsDivided) {
  const StackLibrary library = one_number(1);
  const RunTable table =
      measured(library, {{"x/a", 0.6}, {"x/b", 0.6}, {"y/c", 0.6}, {"y/d", 0.6}});
  const auto sets_of_folds = [&](const LeftOut& out) {
    std::vector<std::set<std::string>> sets(out.libraries.size());
    for (std::size_t i = 0; i < table.runs.size(); ++i)
      sets[static_cast<std::size_t>(out.fold_of[i])].insert(table.runs[i].set);
    return sets;
  };
  using Sets = std::vector<std::set<std::string>>;
  EXPECT_EQ(sets_of_folds(leave_out(library, table.runs, {.folds = 2})),
            (Sets{{"x", "y"}, {"x", "y"}}));
  EXPECT_EQ(sets_of_folds(leave_out(library, table.runs, {.by = LeftOutBy::kSources})),
            (Sets{{"x"}, {"y"}}));
}

}  // namespace
}  // namespace nereus::calibrate::leave_out_test
