#include "calibrate/validation.hpp"

#include <algorithm>
#include <cmath>

#include "base/median.hpp"
#include "base/parallel.hpp"
#include "calibrate/evaluate_runs.hpp"
#include "plan/rules.hpp"

namespace nereus::calibrate {

namespace {

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double relative_error(const RowResult& row) { return row.prediction.step / row.run->step - 1; }

// With x = (step time at MFU 1) / measured, the MFU that minimizes the mean of |x / mfu - 1| is one
// of the x, because the objective is piecewise linear in 1 / mfu.
double null_error(const std::vector<const RowResult*>& rows) {
  std::vector<double> ideal;
  for (const RowResult* row : rows) {
    const cost::Prediction& p = row->prediction;
    ideal.push_back(p.mfu * p.step / row->run->step);
  }
  double best = 0;
  for (std::size_t i = 0; i < ideal.size(); ++i) {
    double sum = 0;
    for (double x : ideal) sum += std::abs(x / ideal[i] - 1);
    if (i == 0 || sum < best) best = sum;
  }
  return rows.empty() ? 0 : best / static_cast<double>(rows.size());
}

double kendall_tau(const std::vector<const RowResult*>& rows) {
  int score = 0;
  int pairs = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      const double measured = rows[i]->run->step - rows[j]->run->step;
      const double predicted = rows[i]->prediction.step - rows[j]->prediction.step;
      if (measured == 0) continue;
      ++pairs;
      score += measured * predicted > 0 ? 1 : measured * predicted < 0 ? -1 : 0;
    }
  }
  return pairs > 0 ? static_cast<double>(score) / pairs : 0;
}

RankingSummary rank(const std::vector<const RowResult*>& rows) {
  std::map<std::string, std::vector<const RowResult*>> groups;
  for (const RowResult* row : rows) groups[row->run->ranking_group].push_back(row);
  std::vector<double> regrets;
  std::vector<double> taus;
  for (const auto& [key, group] : groups) {
    if (group.size() < 4) continue;
    const auto by_prediction = [](const RowResult* a, const RowResult* b) {
      return a->prediction.step < b->prediction.step;
    };
    const auto by_measurement = [](const RowResult* a, const RowResult* b) {
      return a->run->step < b->run->step;
    };
    const RowResult* chosen = *std::min_element(group.begin(), group.end(), by_prediction);
    const RowResult* best = *std::min_element(group.begin(), group.end(), by_measurement);
    regrets.push_back(chosen->run->step / best->run->step - 1);
    taus.push_back(kendall_tau(group));
  }
  return {static_cast<int>(regrets.size()), mean(regrets), median(regrets), mean(taus)};
}

}  // namespace

ErrorSummary summarize(const std::vector<const RowResult*>& rows) {
  std::vector<double> errors;
  std::vector<double> logs;
  std::vector<double> signed_errors;
  for (const RowResult* row : rows) {
    signed_errors.push_back(relative_error(*row));
    errors.push_back(std::abs(relative_error(*row)));
    logs.push_back(std::abs(std::log(row->prediction.step / row->run->step)));
  }
  return {static_cast<int>(rows.size()), mean(errors), median(errors), mean(logs),
          mean(signed_errors)};
}

Validation validate(const RunTable& table, const cost::StackLibrary& library) {
  return validate(table, std::vector<const cost::StackLibrary*>(table.runs.size(), &library));
}

Validation validate(const RunTable& table,
                    const std::vector<const cost::StackLibrary*>& libraries) {
  Validation out;
  out.rows = table.rows;
  out.skipped = table.skipped;
  out.derived = table.derived;
  out.results.resize(table.runs.size());
  parallel_for(table.runs.size(), [&](std::size_t i) {
    const Run& run = table.runs[i];
    const cost::StackLibrary& library = *libraries[i];
    RowResult& row = out.results[i];
    row.run = &run;
    row.prediction = predict(run, library);
    row.predicted_memory =
        reported_memory(row.prediction, library.stacks.find(run.stack)->second.options);
    row.fits = row.prediction.fits;
    const cost::StackEntry& stack = library.stacks.find(run.stack)->second;
    if (!row.fits && !run.recompute_stated && stack.defaults.recompute_as_needed) {
      Run again = run;
      again.degrees.recompute = plan::Recompute::kFull;
      row.fits = predict(again, library).fits;
    }
    // Only what no software could build: more stages than the layers can fill, or heads that tp
    // does not divide.
    const plan::RuleSet hard = plan::bit_of(plan::Rule::kStages) |
                               plan::bit_of(plan::Rule::kHeads) | plan::bit_of(plan::Rule::kFfn) |
                               plan::bit_of(plan::Rule::kBatch);
    row.buildable =
        (plan::violated_rules(run.degrees, plan::degree_limits(*run.model, run.cluster)) & hard) ==
        0;
  });

  std::vector<const RowResult*> clean;
  std::map<std::string, std::vector<const RowResult*>> by_set;
  std::map<std::string, std::vector<const RowResult*>> all_by_set;
  std::map<std::string, std::vector<const RowResult*>> suspect_by_set;
  std::map<std::string, std::vector<const RowResult*>> assumed_by_set;
  std::vector<double> memory_errors;
  for (std::size_t i = 0; i < out.results.size(); ++i) {
    const RowResult& row = out.results[i];
    const Run& run = *row.run;
    const bool feasible = row.fits && row.buildable;
    if (run.failed) {
      ++out.feasibility.failed_rows;
      out.feasibility.failed_predicted_not_to_fit += feasible ? 0 : 1;
      continue;
    }
    if (run.plan_assumed()) {
      out.sets[run.set];
      if (run.suspect.empty()) assumed_by_set[run.set].push_back(&row);
      continue;
    }
    ++out.feasibility.ran_rows;
    out.feasibility.ran_predicted_to_fit += feasible ? 1 : 0;
    if (run.memory > 0)
      memory_errors.push_back(std::abs(memory_error(run, row.prediction, *libraries[i])));
    all_by_set[run.set].push_back(&row);
    if (!run.suspect.empty()) {
      suspect_by_set[run.set].push_back(&row);
      continue;
    }
    clean.push_back(&row);
    by_set[run.set].push_back(&row);
  }
  out.used = static_cast<int>(clean.size());
  for (const auto& [set, rows] : assumed_by_set) {
    out.assumed[set] = summarize(rows);
    out.used += static_cast<int>(rows.size());
  }
  out.overall = summarize(clean);
  for (const auto& [set, rows] : all_by_set) {
    SetSummary& summary = out.sets[set];
    summary.errors = summarize(by_set[set]);
    summary.null_mean_abs_error = null_error(by_set[set]);
    const ErrorSummary all = summarize(rows);
    summary.all_mean_abs_error = all.mean_abs_error;
    summary.all_median_abs_error = all.median_abs_error;
  }
  for (const auto& [set, rows] : suspect_by_set) out.suspect[set] = summarize(rows);
  out.ranking = rank(clean);
  out.memory = {
      static_cast<int>(memory_errors.size()), mean(memory_errors), median(memory_errors), {}};
  return out;
}

}  // namespace nereus::calibrate
