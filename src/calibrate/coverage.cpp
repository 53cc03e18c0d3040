#include "calibrate/coverage.hpp"

#include <cmath>
#include <map>
#include <string>

#include "base/median.hpp"
#include "calibrate/fit_errors.hpp"

namespace nereus::calibrate {

namespace {

struct Count {
  int covered = 0;
  std::vector<double> widths;

  void add(double low, double measured, double high) {
    covered += low <= measured && measured <= high ? 1 : 0;
    widths.push_back((high - low) / measured);
  }
  IntervalSummary summary() const {
    const auto rows = static_cast<int>(widths.size());
    return {rows, rows > 0 ? static_cast<double>(covered) / rows : 0, median(widths)};
  }
};

}  // namespace

void add_intervals(Validation& validation, const cost::StackLibrary& library,
                   const std::vector<std::shared_ptr<const cost::ErrorTable>>& tables) {
  Count all;
  Count memory;
  std::map<std::string, Count> sets;
  for (std::size_t i = 0; i < validation.results.size(); ++i) {
    RowResult& row = validation.results[i];
    const Run& run = *row.run;
    if (!tables[i]) continue;
    const cost::Conditions conditions = conditions_of(run, row.prediction, library);
    if (const auto band = tables[i]->band(cost::Quantity::kStep, conditions)) {
      row.step_low = row.prediction.step * std::exp(band->low());
      row.step_high = row.prediction.step * std::exp(band->high());
    }
    if (const auto band = tables[i]->band(cost::Quantity::kMemory, conditions)) {
      row.memory_low = row.predicted_memory * std::exp(band->low());
      row.memory_high = row.predicted_memory * std::exp(band->high());
    }
    if (run.failed) continue;
    if (run.memory > 0 && row.memory_low) memory.add(*row.memory_low, run.memory, *row.memory_high);
    if (!run.suspect.empty() || !row.step_low) continue;
    all.add(*row.step_low, run.step, *row.step_high);
    sets[run.set].add(*row.step_low, run.step, *row.step_high);
  }
  validation.intervals = all.summary();
  validation.memory.intervals = memory.summary();
  for (auto& [name, set] : validation.sets) set.intervals = sets[name].summary();
}

}  // namespace nereus::calibrate
