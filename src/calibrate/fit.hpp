// Fits a library's free numbers to measured runs.
//
// Maximum a posteriori with a robust loss: minimises
//   sum over rows     w * c (sqrt(1 + (r/c)^2) - 1)
//   + sum over numbers  lambda * ((x - prior) / spread)^2
// with r = ln(predicted / measured) of step time (or the relative error of memory), c = 0.03, x =
// ln(value) for numbers that cannot be zero and the value itself for shares. The loss is near |r|
// for large errors, so that a few odd rows do not bend the fit. Rows of small sets weigh more (sqrt
// of the ratio of sizes, at most 4). Solved by iteratively reweighted Levenberg-Marquardt with
// numerical derivatives (Marquardt 1963), each number kept inside its physical range.
//
// The interval of a number comes from the curvature at the solution (Laplace's approximation): +- 2
// standard deviations, cut at the range.
//
//   FitResult r = fit(library, runs, Target::kStepTime);
//   library = r.library;
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/runs.hpp"
#include "stack/stack.hpp"

namespace nereus::calibrate {

enum class Target { kStepTime, kMemory };

struct FitOptions {
  int max_iterations = 200;
  int min_rows = 10;  // a number that fewer rows tell something about keeps its inherited value
  bool start_at_priors = true;
  std::function<void(int, double)> on_iteration;  // iteration, objective
};

struct FittedNumber {
  cost::FreeNumber number;
  double value = 0;
  double low = 0;
  double high = 0;
  int rows = 0;           // rows that it changes by more than 0.2 % when moved by a tenth
  bool fitted = false;    // false: too few rows, kept
  bool at_bound = false;  // ran into its physical range
};

struct FitResult {
  cost::StackLibrary library;  // with the fitted values and ranges
  std::vector<FittedNumber> numbers;
  double objective = 0;
  int iterations = 0;
};

FitResult fit(const cost::StackLibrary& library, const std::vector<const Run*>& runs, Target target,
              const FitOptions& options = {});

// Fits step time and then memory; the stalls of short memory tie the two, so time is fitted on the
// final memory.
FitResult fit_all(const cost::StackLibrary& library, const std::vector<const Run*>& runs,
                  const FitOptions& options = {});

// True for numbers that only decide memory.
bool decides_memory(std::string_view parameter);

}  // namespace nereus::calibrate
