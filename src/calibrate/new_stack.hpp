// Calibrates software that no table knows from a few of its runs, so that the result is not worse
// than what is known already.
//
// The new stack is built on a known one (calibrate/parents.hpp), and its numbers are fitted with
// priors at the parent's values. A number's spread is how much known stacks differ in it:
//   spread = sqrt(mean over stacks of (x_stack - x_parent)^2), at least NewStackOptions::least_spread
// with x = ln(value), or the value of a share. Numbers of the device keep their ratios between
// devices. The weight of the priors is chosen from a short list by the error of rows left out: the
// strongest that is not clearly worse than the best (the rule of one standard error of Breiman et
// al., Classification and Regression Trees, 1984, with `slack` of it). The fitted numbers are kept
// only if they beat the parent there by more than a standard error of that gain, separately for
// time and for memory. With one row, nothing can be left out, and the parent is kept.
//
//   NewStack s = calibrate_new_stack(library, "our-fork", read);
//   s.parent, s.kept(), s.time.parent, s.time.calibrated;      // errors of rows left out
//   s.library.resolve("our-fork");
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/fit.hpp"
#include "calibrate/fit_errors.hpp"
#include "calibrate/parents.hpp"

namespace nereus::calibrate {

// The defaults were chosen by what calibrating published sets as unknown software gives
// (tests/long/unknown_stacks.sh, docs/method-calibration.md).
struct NewStackOptions {
  double least_spread = 0.1;   // in ln(value); of numbers that may be zero, of their physical range
  int folds = 6;               // into which rows are dealt; leave-one-out for fewer rows
  double standard_errors = 1;  // by which a fit's gain on rows left out must exceed zero
  double slack = 0.5;  // standard errors by which a stronger prior may be worse than the best one
  std::function<bool()> stop;  // may be empty; a stack cut short has its parent's numbers
};

struct TrialRow {
  std::string set;
  double error = 0;
  LeftOutRow left_out;  // its step time's residual without a sign
};

// Mean errors of rows left out, each predicted by a fit to the other rows.
struct StackTrial {
  int rows = 0;  // 0: nothing could be left out
  int folds = 0;
  double parent = 0;
  double calibrated = 0;  // with the weight of the priors that was chosen
  double prior_weight = 0;
  bool kept = false;
  std::vector<TrialRow> errors;  // of what is kept: calibrated, or the parent's
};

struct NewStack {
  std::string parent;
  bool by_name = false;
  StackTrial time;
  StackTrial memory;
  cost::StackLibrary library;  // with the new stack: fitted where kept, else as its parent
  std::vector<FittedNumber> numbers;
  bool kept() const { return time.kept || memory.kept; }
};

// `read` gives the rows of the new stack. Calls `on_fit` with the fits done and their total.
NewStack calibrate_new_stack(const cost::StackLibrary& library, const std::string& name,
                             const ReadRuns& read, const NewStackOptions& options = {},
                             const std::function<void(int, int)>& on_fit = {});

}  // namespace nereus::calibrate
