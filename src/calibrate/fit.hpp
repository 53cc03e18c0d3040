// Fits the free parameters of a library of stacks (stack/stack.hpp) to measured runs.
//
// Maximum a posteriori with a robust loss: it minimizes
//   sum over rows     w * c (sqrt(1 + (r/c)^2) - 1)
//   + sum over numbers  lambda * ((x - prior) / spread)^2
// with r = ln(predicted / measured) of step time (or the relative error of memory), c = 0.03, x =
// ln(value) for numbers that cannot be zero, and x = the value for shares. The loss is about |r|
// for large errors, so that a few outliers do not distort the fit. The weight w of rows of
// small sets is larger: sqrt(rows of the largest set / rows of this set), at most 4. Solved by
// iteratively reweighted Levenberg-Marquardt with numerical derivatives (Marquardt 1963), with each
// number kept in its physical range. An interrupt (base/interrupt.hpp) ends it with the best so
// far.
//
// The interval of a number is computed from the curvature at the solution (Laplace's
// approximation): +- 2 standard deviations, cut at the range.
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

// A number that moves with another one: by the same factor (or by the same difference, for numbers
// that may be zero). So several devices can share one deviation of their software.
struct LinkedNumber {
  cost::FreeNumber leader;  // of the library's free numbers
  cost::FreeNumber follower;
};

// Of one squared standard deviation from the prior, in units of the loss.
inline constexpr double kUsualPriorWeight = 0.08;

struct FitOptions {
  int max_iterations = 200;
  int min_rows = 10;                        // a number that affects fewer rows keeps its prior
  bool start_at_priors = true;              // false: at the library's values
  bool keep_uninformed = false;             // numbers with fewer rows keep the library's value
  double prior_weight = kUsualPriorWeight;  // lambda
  double least_gain = 1e-7;  // of the objective in one iteration, relative; less is the end
  std::vector<LinkedNumber> links;
  std::function<bool()> stop;                     // may be empty
  std::function<void(int, double)> on_iteration;  // iteration, objective
};

struct FittedNumber {
  cost::FreeNumber number;
  double value = 0;
  double low = 0;
  double high = 0;
  int rows = 0;           // rows that change by more than 0.2 % when it changes by a tenth
  bool fitted = false;    // false: too few rows, so the value was kept
  bool at_bound = false;  // it reached its physical range
};

struct FitResult {
  cost::StackLibrary library;  // with the fitted values and ranges
  std::vector<FittedNumber> numbers;
  double objective = 0;
  int iterations = 0;
};

FitResult fit(const cost::StackLibrary& library, const std::vector<const Run*>& runs, Target target,
              const FitOptions& options = {});

// Fits step time, then memory. Time depends on memory through the stalls of nearly full memory, so
// time is fitted again with the final memory.
FitResult fit_all(const cost::StackLibrary& library, const std::vector<const Run*>& runs,
                  const FitOptions& options = {});

// True for numbers that only affect memory.
bool decides_memory(std::string_view parameter);

}  // namespace nereus::calibrate
