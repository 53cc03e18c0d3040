#include "calibrate/fit_errors.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/parallel.hpp"
#include "calibrate/solve.hpp"

namespace nereus::calibrate {

namespace {

using cost::ErrorBand;
using cost::ErrorScale;
using cost::ErrorTable;
using cost::Quantity;

constexpr double kAsGoodAsNone = 0.005;  // of ln(measured / predicted)
constexpr double kRidge = 1;

std::optional<double> residual(const LeftOutRow& row, Quantity quantity) {
  return quantity == Quantity::kStep ? row.step : row.memory;
}

double log_size(double r) { return std::log(std::abs(r) + kAsGoodAsNone); }

struct Weighted {
  double value = 0;
  double weight = 1;
};

// Linear between the middles of the weights.
double quantile(std::vector<Weighted> list, double share) {
  std::sort(list.begin(), list.end(),
            [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  double total = 0;
  for (const Weighted& one : list) total += one.weight;
  double before = 0;
  double last_middle = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const double middle = (before + list[i].weight / 2) / total;
    if (middle >= share) {
      if (i == 0) return list[i].value;
      const double part = (share - last_middle) / (middle - last_middle);
      return list[i - 1].value + part * (list[i].value - list[i - 1].value);
    }
    before += list[i].weight;
    last_middle = middle;
  }
  return list.empty() ? 0 : list.back().value;
}

// One regression; `rows` have a residual of this quantity.
class Regression {
 public:
  Regression(Quantity quantity, const std::vector<const LeftOutRow*>& rows) : quantity_(quantity) {
    std::map<std::string_view, int> group_sizes;
    for (const LeftOutRow* row : rows) ++group_sizes[row->group];
    for (const LeftOutRow* row : rows) {
      Row own{row, 1 / std::sqrt(static_cast<double>(group_sizes[row->group])), {0}};
      for (const std::string& name : cost::effects_of(quantity, row->conditions)) {
        const auto [at, fresh] = index_.try_emplace(name, static_cast<int>(index_.size()) + 1);
        own.columns.push_back(at->second);
        cost::ErrorEffect& effect = scale_.effects[name];
        ++effect.rows;
        groups_[name][row->group] = true;
      }
      rows_.push_back(std::move(own));
      cost::SeenRuns& seen = scale_.seen[cost::seen_key(row->conditions)];
      ++seen.rows;
      seen.most_devices = std::max(seen.most_devices, row->conditions.num_devices);
    }
  }

  ErrorScale run() {
    if (rows_.empty()) return {};
    const std::vector<double> x = solve();
    scale_.all = x[0];
    for (auto& [name, effect] : scale_.effects) {
      effect.value = x[static_cast<std::size_t>(index_.at(name))];
      effect.groups = static_cast<int>(groups_.at(name).size());
    }
    std::vector<Weighted> signed_sizes;
    std::vector<Weighted> errors;
    double total = 0;
    for (const Row& row : rows_) {
      double ln = 0;
      for (const int column : row.columns) ln += x[static_cast<std::size_t>(column)];
      const double r = *residual(*row.row, quantity_);
      signed_sizes.push_back({r / std::exp(ln), row.weight});
      errors.push_back({std::abs(std::expm1(-r)) / std::exp(ln), row.weight});
      scale_.mean_abs += errors.back().value * row.weight;
      total += row.weight;
    }
    for (std::size_t i = 0; i < scale_.quantiles.size(); ++i)
      scale_.quantiles[i] = quantile(signed_sizes, ErrorBand::kShares[i]);
    scale_.mean_abs /= total;
    scale_.median_abs = quantile(errors, 0.5);
    return scale_;
  }

 private:
  struct Row {
    const LeftOutRow* row;
    double weight;
    std::vector<int> columns;  // 0 is what all have in common
  };

  std::vector<double> solve() const {
    const std::size_t n = index_.size() + 1;
    std::vector<double> normal(n * n, 0);
    std::vector<double> right(n, 0);
    for (const Row& row : rows_) {
      const double y = log_size(*residual(*row.row, quantity_));
      for (const int i : row.columns) {
        const auto at = static_cast<std::size_t>(i);
        right[at] += row.weight * y;
        for (const int j : row.columns) normal[at * n + static_cast<std::size_t>(j)] += row.weight;
      }
    }
    for (std::size_t i = 1; i < n; ++i) normal[i * n + i] += kRidge;
    return solve_damped(normal, right, 0);
  }

  Quantity quantity_;
  std::vector<Row> rows_;
  std::map<std::string, int, std::less<>> index_;
  std::map<std::string, std::map<std::string_view, bool>, std::less<>> groups_;
  ErrorScale scale_;
};

double ln_likelihood(const std::vector<const LeftOutRow*>& rows, double center, double spread,
                     double other) {
  double sum = 0;
  for (const LeftOutRow* row : rows) {
    const double fits = (1 - other) / (1 + std::exp(-(row->room - center) / spread));
    sum += std::log(std::max(1e-9, row->failed ? 1 - fits : fits));
  }
  return sum;
}

cost::FitsCurve fit_curve(const std::vector<const LeftOutRow*>& rows) {
  cost::FitsCurve curve;
  for (const LeftOutRow* row : rows)
    if (row->failed && !row->conditions.software.empty())
      curve.software.insert(row->conditions.software.front());
  std::vector<const LeftOutRow*> known;
  for (const LeftOutRow* row : rows)
    if (row->room != 0 && !row->conditions.software.empty() &&
        curve.software.contains(row->conditions.software.front()))
      known.push_back(row);
  if (known.empty()) return {};
  // A grid, then finer ones around its best point.
  double other = 0.05;
  curve.center = 0.1;
  curve.spread = 0.1;
  double steps[] = {0.1, 0.1, 0.05};
  double best = ln_likelihood(known, curve.center, curve.spread, other);
  for (int finer = 0; finer < 8; ++finer) {
    for (bool better = true; better;) {
      better = false;
      for (int axis = 0; axis < 3; ++axis)
        for (const double sign : {-1.0, 1.0}) {
          const double center = curve.center + (axis == 0 ? sign * steps[0] : 0);
          const double spread = curve.spread + (axis == 1 ? sign * steps[1] : 0);
          const double more = other + (axis == 2 ? sign * steps[2] : 0);
          if (spread < 0.005 || spread > 0.5 || std::abs(center) > 0.5 || more < 0 || more > 0.3)
            continue;
          const double value = ln_likelihood(known, center, spread, more);
          if (value <= best) continue;
          best = value;
          curve.center = center;
          curve.spread = spread;
          other = more;
          better = true;
        }
    }
    for (double& step : steps) step /= 2;
  }
  return curve;
}

}  // namespace

cost::Conditions conditions_of(const Run& run, const cost::Prediction& prediction,
                               const cost::StackLibrary& library) {
  cost::Stack stack;
  stack.name = run.stack;
  stack.software = library.software_of(run.stack);
  stack.device_parents = library.device_parents;
  return cost::conditions_of(*run.model, run.cluster.groups.front(), run.cluster.num_devices(),
                             run.degrees, stack,
                             prediction.memory.total / prediction.memory.capacity);
}

LeftOutRow left_out_row(const RowResult& result, std::string group,
                        const cost::StackLibrary& library) {
  const Run& run = *result.run;
  const cost::Memory& memory = result.prediction.memory;
  LeftOutRow row;
  row.conditions = conditions_of(run, result.prediction, library);
  row.source = run.set;
  row.group = std::move(group);
  row.failed = run.failed;
  if (!run.failed && run.suspect.empty()) row.step = std::log(run.step / result.prediction.step);
  if (!run.failed && run.memory > 0 && result.predicted_memory > 0)
    row.memory = std::log(run.memory / result.predicted_memory);
  const bool as_needed =
      library.stacks.find(run.stack)->second.defaults.recompute_as_needed && !run.recompute_stated;
  if (!as_needed && result.buildable && memory.total > 0 && memory.capacity > 0)
    row.room = std::log(memory.capacity / memory.total);
  return row;
}

std::vector<LeftOutRow> left_out_rows(const Validation& validation, const LeftOut& left_out,
                                      const cost::StackLibrary& library) {
  std::vector<LeftOutRow> rows;
  for (std::size_t i = 0; i < validation.results.size(); ++i)
    rows.push_back(left_out_row(validation.results[i], left_out.group_of[i], library));
  return rows;
}

ErrorTable fit_errors(const std::vector<const LeftOutRow*>& rows) {
  ErrorTable table;
  for (const Quantity quantity : {Quantity::kStep, Quantity::kMemory}) {
    std::vector<const LeftOutRow*> known;
    for (const LeftOutRow* row : rows)
      if (residual(*row, quantity)) known.push_back(row);
    table.scales[static_cast<std::size_t>(quantity)] = Regression(quantity, known).run();
  }
  for (const LeftOutRow* row : rows) {
    if (!row->failed) table.sources.insert(row->source);
    if (row->step)
      table.features.insert(row->conditions.features.begin(), row->conditions.features.end());
  }
  table.fits = fit_curve(rows);
  return table;
}

ErrorTable errors_of_stack(const std::vector<const LeftOutRow*>& rows, const ErrorTable& known) {
  ErrorTable table = fit_errors(rows);
  for (std::size_t q = 0; q < table.scales.size(); ++q) {
    if (known.scales[q].seen.empty() || table.scales[q].seen.empty()) continue;
    const auto quantity = static_cast<Quantity>(q);
    std::map<std::string_view, int> group_sizes;
    for (const LeftOutRow* row : rows) group_sizes[row->group] += residual(*row, quantity) ? 1 : 0;
    double weight = 0;
    double sum = 0;
    cost::ErrorEffect effect;
    std::string name;
    for (const LeftOutRow* row : rows) {
      if (!residual(*row, quantity)) continue;
      double ln = known.scales[q].all;
      for (const std::string& other : cost::effects_of(quantity, row->conditions))
        if (const auto at = known.scales[q].effects.find(other);
            at != known.scales[q].effects.end())
          ln += at->second.value;
      const double w = 1 / std::sqrt(static_cast<double>(group_sizes[row->group]));
      weight += w;
      sum += w * (log_size(*residual(*row, quantity)) - ln);
      ++effect.rows;
      name = "stack:" + row->conditions.stack;
    }
    effect.value = sum / (weight + kRidge);
    effect.groups = static_cast<int>(std::count_if(group_sizes.begin(), group_sizes.end(),
                                                   [](const auto& own) { return own.second > 0; }));
    const std::map<cost::SeenKey, cost::SeenRuns> seen = std::move(table.scales[q].seen);
    table.scales[q] = known.scales[q];
    table.scales[q].effects = {{name, effect}};
    table.scales[q].seen = seen;
  }
  return table;
}

double unseen_factor(const std::vector<LeftOutRow>& by_group,
                     const std::vector<LeftOutRow>& by_source, Quantity quantity) {
  std::map<std::string_view, std::vector<double>> more;
  for (std::size_t i = 0; i < by_group.size(); ++i) {
    const std::optional<double> group = residual(by_group[i], quantity);
    const std::optional<double> source = residual(by_source[i], quantity);
    if (group && source) more[by_group[i].source].push_back(log_size(*source) - log_size(*group));
  }
  double sum = 0;
  for (const auto& [source, list] : more) {
    double mean = 0;
    for (const double one : list) mean += one / static_cast<double>(list.size());
    sum += mean / static_cast<double>(more.size());
  }
  return std::max(1.0, std::exp(sum));
}

std::vector<std::shared_ptr<const ErrorTable>> tables_without_own_group(
    const std::vector<LeftOutRow>& rows, const ErrorTable& all) {
  std::map<std::string_view, std::shared_ptr<const ErrorTable>> without;
  for (const LeftOutRow& row : rows) without[row.group];
  std::vector<std::pair<std::string_view, std::shared_ptr<const ErrorTable>*>> todo;
  for (auto& [group, table] : without) todo.emplace_back(group, &table);
  parallel_for(todo.size(), [&](std::size_t i) {
    std::vector<const LeftOutRow*> others;
    for (const LeftOutRow& row : rows)
      if (row.group != todo[i].first) others.push_back(&row);
    ErrorTable table = fit_errors(others);
    for (std::size_t q = 0; q < table.scales.size(); ++q)
      table.scales[q].unseen = all.scales[q].unseen;
    *todo[i].second = std::make_shared<const ErrorTable>(std::move(table));
  });
  std::vector<std::shared_ptr<const ErrorTable>> tables;
  for (const LeftOutRow& row : rows) tables.push_back(without.at(row.group));
  return tables;
}

}  // namespace nereus::calibrate
