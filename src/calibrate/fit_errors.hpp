// Makes the error table (stack/error_table.hpp) from runs predicted by fits that have not seen
// them.
//
// ln s is a ridge regression: it minimizes
//   sum over runs  w (ln(|r| + 0.005) - all - sum of effects)^2  +  sum of effects^2
// with w = 1 / sqrt(runs of the group), because the runs of a group are alike. So an effect that
// one run supports is half of what that run says. Residuals below 0.005 are as good as none.
// u is the mean of ln(|r| + 0.005) with the source left out less that with the group left out, each
// source with the same weight. The curve of fitting has the greatest likelihood for the runs of
// software with failed runs; a share of runs, fitted too, fails for other reasons.
//
//   const std::vector<LeftOutRow> rows = left_out_rows(validation, left_out, library);
//   ErrorTable table = fit_errors(rows);
//   table.scales[0].unseen = unseen_factor(rows, left_out_rows(by source), Quantity::kStep);
//   judge_intervals(validation, tables_without_own_group(rows, table));   // their coverage
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/leave_out.hpp"
#include "calibrate/validation.hpp"
#include "stack/error_table.hpp"

namespace nereus::calibrate {

// One run, as a fit predicts it that has not seen it.
struct LeftOutRow {
  cost::Conditions conditions;
  std::string source;
  std::string group;
  std::optional<double> step;    // ln(measured / predicted)
  std::optional<double> memory;  // likewise, of what the software reports
  double room = 0;               // ln(capacity / predicted); 0 if its memory is not known
  bool failed = false;
};

LeftOutRow left_out_row(const RowResult& result, std::string group,
                        const cost::StackLibrary& library);
// In the order of the runs. Suspect runs say nothing about step times.
std::vector<LeftOutRow> left_out_rows(const Validation& validation, const LeftOut& left_out,
                                      const cost::StackLibrary& library);

cost::ErrorTable fit_errors(const std::vector<const LeftOutRow*>& rows);
// What runs of a new stack add to a table: the stack's effect, with those of all other conditions
// as they are known.
cost::ErrorTable errors_of_stack(const std::vector<const LeftOutRow*>& rows,
                                 const cost::ErrorTable& known);
double unseen_factor(const std::vector<LeftOutRow>& by_group,
                     const std::vector<LeftOutRow>& by_source, cost::Quantity quantity);

// For every run the table of all other groups' runs, with the unseen factors of `all`: what would
// have been known before this group was measured.
std::vector<std::shared_ptr<const cost::ErrorTable>> tables_without_own_group(
    const std::vector<LeftOutRow>& rows, const cost::ErrorTable& all);

cost::Conditions conditions_of(const Run& run, const cost::Prediction& prediction,
                               const cost::StackLibrary& library);

}  // namespace nereus::calibrate
