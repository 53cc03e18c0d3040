// How far predictions are from measured runs: the numbers of `nereus validate`.
//
// The error of a row = |predicted - measured| / measured step time. The null model of a set
// predicts every row with one MFU, the best one for that set: the result of knowing only FLOPs.
// Ranking: in every group of at least four comparable runs, the regret is the cost of choosing the
// run that is predicted fastest, and Kendall's tau counts pairs in the right order. Feasibility:
// successful runs should be predicted to fit, failed runs not to.
//
//   Validation v = validate(runs, library);
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/runs.hpp"
#include "predict/predictor.hpp"

namespace nereus::calibrate {

struct ErrorSummary {
  int used = 0;
  double mean_abs_error = 0;
  double median_abs_error = 0;
  double mean_log_error = 0;  // mean |ln(predicted / measured)|
  double bias = 0;            // mean of (predicted - measured) / measured
};

// How many measured values are in their predictions' intervals (calibrate/coverage.hpp).
struct IntervalSummary {
  int rows = 0;  // that have an interval
  double covered = 0;
  double median_width = 0;
};

struct SetSummary {
  ErrorSummary errors;  // rows that are not suspect
  IntervalSummary intervals;
  double null_mean_abs_error = 0;
  double all_mean_abs_error = 0;  // including suspect rows
  double all_median_abs_error = 0;
};

struct RankingSummary {
  int groups = 0;
  double mean_regret = 0;
  double median_regret = 0;
  double kendall_tau = 0;  // mean over groups
};

struct MemorySummary {
  int rows = 0;
  double mean_abs_error = 0;
  double median_abs_error = 0;
  IntervalSummary intervals;
};

struct FeasibilitySummary {
  int ran_rows = 0;
  int ran_predicted_to_fit = 0;
  int failed_rows = 0;
  int failed_predicted_not_to_fit = 0;
};

struct RowResult {
  const Run* run = nullptr;
  cost::Prediction prediction;
  double predicted_memory = 0;  // as the run's software would report it
  bool fits = true;             // if the recipe recomputes as needed: with any recompute
  std::optional<double> step_low, step_high;  // 80 %; none if nothing is known of such runs
  std::optional<double> memory_low, memory_high;
  bool buildable = true;  // false: the degrees violate a rule, so it could not have run
};

struct Validation {
  int rows = 0;
  int used = 0;
  std::map<std::string, int> skipped;
  std::map<std::string, int> derived;  // column -> rows that leave it blank, filled in
  ErrorSummary overall;
  IntervalSummary intervals;
  std::map<std::string, SetSummary> sets;
  std::map<std::string, ErrorSummary> assumed;  // only rows that leave their plan open, by set
  std::map<std::string, ErrorSummary> suspect;  // only suspect rows, by set
  RankingSummary ranking;
  MemorySummary memory;
  FeasibilitySummary feasibility;
  std::vector<RowResult> results;  // in the order of the runs
};

Validation validate(const RunTable& table, const cost::StackLibrary& library);
// Each run with its own library: that of a fit which did not see it (calibrate/leave_out.hpp).
Validation validate(const RunTable& table, const std::vector<const cost::StackLibrary*>& libraries);

ErrorSummary summarize(const std::vector<const RowResult*>& rows);

}  // namespace nereus::calibrate
