#include "calibrate/cross_validate.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "calibrate/calibrate_testing.hpp"
#include "calibrate/evaluate_runs.hpp"

namespace nereus::calibrate::cross_validate_test {
namespace {

using cost::Scope;
using cost::StackLibrary;
using testing::make_library;
using testing::make_runs;
using testing::pointers;
using testing::Row;

const Scope kA100{Scope::Kind::kDevice, "A100"};

// One free number, with a prior so weak that the rows alone decide it.
StackLibrary one_number() {
  return make_library(
      "[stack.generic]\n[device.A100.fit]\ngemm_efficiency = { prior = 0.6, spread = 10 }\n");
}

// Two models of twelve rows each; a GEMM reaches 80 % of the peak in the one, 40 % in the other.
RunTable two_models(const StackLibrary& library) {
  std::vector<Row> rows;
  for (const char* model : {"fast", "slow"})
    for (int tp : {1, 2, 4, 8})
      for (int micro_batch : {1, 2, 4})
        rows.push_back({.model = model,
                        .layers = 16,
                        .hidden = 8192,
                        .heads = 64,
                        .tp = tp,
                        .micro_batch = micro_batch});
  RunTable table = make_runs(rows, library, "generic");
  for (auto& run : table.runs) {
    StackLibrary truth = library;
    truth.set(kA100, "gemm_efficiency", run.model_name == "fast" ? 0.8 : 0.4);
    run.step = predict(run, truth).step;
  }
  return table;
}

// The mean error of rows when all of them are predicted with the other model's efficiency.
double error_of_swapped(const RunTable& table, const StackLibrary& library) {
  double sum = 0;
  for (const auto& run : table.runs) {
    StackLibrary other = library;
    other.set(kA100, "gemm_efficiency", run.model_name == "fast" ? 0.4 : 0.8);
    sum += std::abs(predict(run, other).step / run.step - 1);
  }
  return sum / static_cast<double>(table.runs.size());
}

TEST(CrossValidate, PredictsAModelFromTheOthersOnly) {
  const StackLibrary library = one_number();
  const RunTable table = two_models(library);
  ASSERT_EQ(table.runs.size(), 24u);
  const CrossValidation result = cross_validate(library, pointers(table), 2);
  EXPECT_EQ(result.folds, 2);
  ASSERT_EQ(result.sets.size(), 1u);
  EXPECT_EQ(result.sets.at("lab").used, 24);
  const double swapped = error_of_swapped(table, library);
  EXPECT_GT(swapped, 0.4);
  EXPECT_NEAR(result.sets.at("lab").mean_abs_error, swapped, 0.02 * swapped);
}

TEST(CrossValidate, SuspectAndFailedRowsAreNotScored) {
  const StackLibrary library = one_number();
  RunTable table = two_models(library);
  table.runs[0].suspect = "slow-twin";
  table.runs[1].failed = true;
  EXPECT_EQ(cross_validate(library, pointers(table), 2).sets.at("lab").used, 22);
}

TEST(CrossValidate, ATrueModelIsPredictedAsWellUnseen) {
  const StackLibrary library = one_number();
  RunTable table = two_models(library);
  StackLibrary truth = library;
  truth.set(kA100, "gemm_efficiency", 0.7);
  for (auto& run : table.runs) run.step = predict(run, truth).step;
  EXPECT_LT(cross_validate(library, pointers(table), 2).sets.at("lab").mean_abs_error, 0.01);
}

}  // namespace
}  // namespace nereus::calibrate::cross_validate_test
