#include "calibrate/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.hpp"
#include "calibrate/calibrate_testing.hpp"
#include "calibrate/evaluate_runs.hpp"

namespace nereus::calibrate::fit_test {
namespace {

using cost::Scope;
using cost::StackLibrary;
using testing::make_library;
using testing::make_runs;
using testing::pointers;
using testing::Row;

// Four numbers of time, of different kinds: a rate, a share of memory traffic, a host time, a link.
// Their priors are wide, so that the rows decide.
constexpr const char* kFree = R"(
[device.A100.fit]
gemm_efficiency = { prior = 0.80, spread = 2 }
link_efficiency = { prior = 0.75, spread = 2 }
[stack.generic.fit]
elementwise_passes = { prior = 1.5, spread = 2 }
host_layer = { prior = "2 ms", spread = 2 }
)";

constexpr const char* kFreeMemory = R"(
[stack.generic.fit]
activation_copies = { prior = 1.0, spread = 2 }
memory_fixed = { prior = "1 GB", spread = 2 }
)";

const Scope kA100{Scope::Kind::kDevice, "A100"};
const Scope kGeneric{Scope::Kind::kStack, "generic"};

// 72 runs: three sizes of model, from one device's work to a whole node's, small and large batches.
std::vector<Row> grid() {
  std::vector<Row> rows;
  for (int hidden : {1024, 2048, 4096})
    for (int tp : {1, 2, 4, 8})
      for (int pp : {1, 2})
        for (int micro_batch : {1, 2, 4})
          rows.push_back({.model = fmt::format("m{}", hidden),
                          .hidden = hidden,
                          .gpus = 16,
                          .tp = tp,
                          .pp = pp,
                          .micro_batch = micro_batch,
                          .global_batch = 64});
  return rows;
}

// What the runs would take if the library were the truth.
void measure(RunTable& table, const StackLibrary& truth) {
  for (auto& run : table.runs) run.step = predict(run, truth).step;
}

double value_of(StackLibrary library, const Scope& scope, const char* parameter) {
  const double* value = library.find(scope, parameter);
  return value == nullptr ? -1 : *value;
}

StackLibrary time_and_memory() {
  StackLibrary library = make_library(kFree);
  cost::overlay_stacks(library, kFreeMemory, "memory.toml");
  return library;
}

void expect_recovered(const FitResult& fitted, const StackLibrary& truth, double tolerance) {
  for (const FittedNumber& number : fitted.numbers) {
    const double expected = value_of(truth, number.number.scope, number.number.parameter.c_str());
    EXPECT_TRUE(number.fitted) << number.number.parameter;
    EXPECT_NEAR(number.value, expected, tolerance * expected) << number.number.parameter;
    EXPECT_LE(number.low, number.value);
    EXPECT_GE(number.high, number.value);
    EXPECT_EQ(number.value,
              value_of(fitted.library, number.number.scope, number.number.parameter.c_str()));
  }
}

StackLibrary true_library(const StackLibrary& library) {
  StackLibrary truth = library;
  truth.set(kA100, "gemm_efficiency", 0.66);
  truth.set(kA100, "link_efficiency", 0.60);
  truth.set(kGeneric, "elementwise_passes", 2.2);
  truth.set(kGeneric, "host_layer", 3.1e-3);
  return truth;
}

TEST(Fit, RecoversTheNumbersThatMadeTheRuns) {
  const StackLibrary library = make_library(kFree);
  const StackLibrary truth = true_library(library);
  RunTable table = make_runs(grid(), library, "generic");
  ASSERT_EQ(table.runs.size(), 72u);
  measure(table, truth);
  const FitResult fitted = fit(library, pointers(table), Target::kStepTime);
  ASSERT_EQ(fitted.numbers.size(), 4u);
  expect_recovered(fitted, truth, 0.03);
  for (const FittedNumber& number : fitted.numbers) {
    EXPECT_GE(number.rows, 10) << number.number.parameter;
    EXPECT_FALSE(number.at_bound) << number.number.parameter;
  }
  for (const auto& run : table.runs)
    EXPECT_NEAR(predict(run, fitted.library).step, run.step, 0.01 * run.step) << run.line;
}

// The truth of one number lies outside its range: it ends there, and the others still come close.
TEST(Fit, ANumberHeldAtItsEndDoesNotStopTheOthers) {
  const StackLibrary library = make_library(kFree);
  StackLibrary truth = true_library(library);
  RunTable table = make_runs(grid(), library, "generic");
  truth.set(kA100, "link_efficiency", 1.3);  // the range ends at 1
  measure(table, truth);
  const FitResult fitted = fit(library, pointers(table), Target::kStepTime);
  EXPECT_GE(fitted.numbers.size(), 2U);
  for (const FittedNumber& number : fitted.numbers) {
    const double expected = value_of(truth, number.number.scope, number.number.parameter.c_str());
    if (number.number.parameter == "link_efficiency") {
      EXPECT_TRUE(number.at_bound);
    } else {
      EXPECT_NEAR(number.value, expected, 0.12 * expected) << number.number.parameter;
    }
  }
}

TEST(Fit, AFewOddRowsDoNotBendIt) {
  const StackLibrary library = make_library(kFree);
  const StackLibrary truth = true_library(library);
  RunTable table = make_runs(grid(), library, "generic");
  measure(table, truth);
  for (std::size_t i = 0; i < table.runs.size(); i += 20) table.runs[i].step *= 3;
  expect_recovered(fit(library, pointers(table), Target::kStepTime), truth, 0.05);
}

TEST(Fit, SuspectAndFailedRowsSayNothing) {
  const StackLibrary library = make_library(kFree);
  const StackLibrary truth = true_library(library);
  RunTable table = make_runs(grid(), library, "generic");
  measure(table, truth);
  const FitResult clean = fit(library, pointers(table), Target::kStepTime);
  RunTable more = make_runs(grid(), library, "generic");
  for (auto& run : more.runs) {
    run.step = 1000;
    run.suspect = "slow-twin";
  }
  more.runs[0].suspect.clear();
  more.runs[0].failed = true;
  auto all = pointers(table);
  for (const auto* run : pointers(more)) all.push_back(run);
  const FitResult same = fit(library, all, Target::kStepTime);
  for (std::size_t i = 0; i < clean.numbers.size(); ++i) {
    EXPECT_EQ(same.numbers[i].value, clean.numbers[i].value);
    EXPECT_EQ(same.numbers[i].rows, clean.numbers[i].rows);
  }
}

TEST(Fit, NumbersStayInTheirPhysicalRange) {
  const StackLibrary library = make_library(kFree);
  RunTable table = make_runs(grid(), library, "generic");
  measure(table, library);
  for (auto& run : table.runs) run.step *= 20;  // no device is that slow
  const FitResult slow = fit(library, pointers(table), Target::kStepTime);
  for (auto& run : table.runs) run.step /= 400;  // nor that fast
  const FitResult fast = fit(library, pointers(table), Target::kStepTime);
  for (const FitResult* result : {&slow, &fast}) {
    int at_bound = 0;
    for (const FittedNumber& number : result->numbers) {
      const cost::ParameterInfo* info = cost::find_parameter(number.number.parameter);
      for (double value : {number.value, number.low, number.high}) {
        EXPECT_GE(value, info->low) << info->name;
        EXPECT_LE(value, info->high) << info->name;
      }
      at_bound += number.at_bound ? 1 : 0;
    }
    EXPECT_GE(at_bound, 1) << "and says where it was stopped";
  }
  EXPECT_EQ(slow.numbers[0].number.parameter, "gemm_efficiency");
  EXPECT_NEAR(slow.numbers[0].value, 0.30, 1e-3);
  EXPECT_NEAR(fast.numbers[0].value, 0.95, 1e-3);
}

// --- numbers that too few rows tell something about ----------------------------------------------

// 72 rows of A100 and six of H100.
RunTable mostly_a100(const StackLibrary& library) {
  std::vector<Row> rows = grid();
  for (std::size_t i = 0; i < 6; ++i) {
    rows.push_back(rows[12 * i]);
    rows.back().gpu = "H100";
  }
  return make_runs(rows, library, "generic");
}

const FittedNumber& number_of(const FitResult& result, const Scope& scope) {
  for (const FittedNumber& number : result.numbers)
    if (number.number.scope == scope) return number;
  ADD_FAILURE() << "no number in " << to_string(scope);
  return result.numbers.front();
}

TEST(Fit, NumbersWithTooFewRowsAreNotFitted) {
  StackLibrary library = make_library(kFree);
  cost::overlay_stacks(library, R"(
[device.H100.fit]
gemm_efficiency = { prior = 0.70, spread = 2 }
[device.V100.fit]
gemm_efficiency = { prior = 0.65, spread = 2 }
)",
                       "more.toml");
  const Scope h100{Scope::Kind::kDevice, "H100"};
  const Scope v100{Scope::Kind::kDevice, "V100"};
  StackLibrary truth = true_library(library);
  truth.set(h100, "gemm_efficiency", 0.5);
  RunTable table = mostly_a100(library);
  measure(table, truth);

  const FitResult few = fit(library, pointers(table), Target::kStepTime);
  EXPECT_FALSE(number_of(few, h100).fitted);
  EXPECT_GE(number_of(few, h100).rows, 1);
  EXPECT_LE(number_of(few, h100).rows, 6);
  EXPECT_DOUBLE_EQ(number_of(few, h100).value, 0.70);  // its prior
  EXPECT_FALSE(number_of(few, v100).fitted);
  EXPECT_EQ(number_of(few, v100).rows, 0);
  EXPECT_TRUE(number_of(few, kA100).fitted);

  FitOptions options;
  options.min_rows = 3;
  const FitResult enough = fit(library, pointers(table), Target::kStepTime, options);
  EXPECT_TRUE(number_of(enough, h100).fitted);
  EXPECT_NEAR(number_of(enough, h100).value, 0.5, 0.05 * 0.5);
  EXPECT_FALSE(number_of(enough, v100).fitted);
}

// Who calibrates with own rows starts from what others fitted; what those rows do not touch stays.
TEST(Fit, StartedFromValuesKeepsThoseItCannotFit) {
  StackLibrary library = make_library(kFree);
  cost::overlay_stacks(library, R"(
[device.H100.fit]
gemm_efficiency = { prior = 0.70, spread = 2 }
[device.H100.parameters]
gemm_efficiency = 0.58
)",
                       "more.toml");
  RunTable table = make_runs(grid(), library, "generic");
  measure(table, true_library(library));
  FitOptions options;
  options.start_at_priors = false;
  options.keep_uninformed = true;
  const FitResult fitted = fit(library, pointers(table), Target::kStepTime, options);
  const Scope h100{Scope::Kind::kDevice, "H100"};
  EXPECT_FALSE(number_of(fitted, h100).fitted);
  EXPECT_DOUBLE_EQ(number_of(fitted, h100).value, 0.58);
  EXPECT_DOUBLE_EQ(value_of(fitted.library, h100, "gemm_efficiency"), 0.58);
}

// --- memory --------------------------------------------------------------------------------------

TEST(Fit, MemoryIsFittedApartFromTime) {
  const StackLibrary library = time_and_memory();
  StackLibrary truth = true_library(library);
  truth.set(kGeneric, "activation_copies", 1.4);
  truth.set(kGeneric, "memory_fixed", 3e9);
  RunTable table = make_runs(grid(), library, "generic");
  measure(table, truth);
  for (auto& run : table.runs) run.memory = predict(run, truth).memory.total;

  const FitResult memory = fit(library, pointers(table), Target::kMemory);
  ASSERT_EQ(memory.numbers.size(), 2u);
  expect_recovered(memory, truth, 0.05);
  for (auto& run : table.runs) run.memory = 0;
  for (const FittedNumber& number : fit(library, pointers(table), Target::kMemory).numbers)
    EXPECT_FALSE(number.fitted) << "nobody reported any";
}

TEST(Fit, AllOfItFitsBoth) {
  const StackLibrary library = time_and_memory();
  StackLibrary truth = true_library(library);
  truth.set(kGeneric, "activation_copies", 1.4);
  truth.set(kGeneric, "memory_fixed", 3e9);
  RunTable table = make_runs(grid(), library, "generic");
  measure(table, truth);
  for (auto& run : table.runs) run.memory = predict(run, truth).memory.total;
  const FitResult fitted = fit_all(library, pointers(table));
  EXPECT_EQ(fitted.numbers.size(), 6u);
  expect_recovered(fitted, truth, 0.05);
}

TEST(Fit, KnowsWhichNumbersDecideMemory) {
  for (const char* name : {"memory_fixed", "activation_copies", "logits_copies", "buffer_bytes"})
    EXPECT_TRUE(decides_memory(name)) << name;
  for (const char* name : {"gemm_efficiency", "host_layer", "memory_efficiency", "network_jitter"})
    EXPECT_FALSE(decides_memory(name)) << name;
}

TEST(Fit, IsTheSameAtAnyThreadCount) {
  const StackLibrary library = make_library(kFree);
  RunTable table = make_runs(grid(), library, "generic");
  measure(table, true_library(library));
  const FitResult many = fit(library, pointers(table), Target::kStepTime);
  const ThreadLimit limit(1);
  const FitResult single = fit(library, pointers(table), Target::kStepTime);
  EXPECT_EQ(many.objective, single.objective);
  for (std::size_t i = 0; i < many.numbers.size(); ++i)
    EXPECT_EQ(many.numbers[i].value, single.numbers[i].value);
}

TEST(Fit, WithoutFreeNumbersChangesNothingAndWithoutRowsGivesThePriors) {
  const StackLibrary fixed = make_library("[stack.generic]\n");
  RunTable table = make_runs(grid(), fixed, "generic");
  EXPECT_TRUE(fit(fixed, pointers(table), Target::kStepTime).numbers.empty());
  const StackLibrary free = make_library(kFree);
  for (const FittedNumber& number : fit(free, {}, Target::kStepTime).numbers) {
    EXPECT_FALSE(number.fitted);
    EXPECT_DOUBLE_EQ(number.number.prior,
                     value_of(fit(free, {}, Target::kStepTime).library, number.number.scope,
                              number.number.parameter.c_str()));
  }
}

}  // namespace
}  // namespace nereus::calibrate::fit_test
