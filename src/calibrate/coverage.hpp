// Whether 80 % intervals hold 80 % of the measured runs: a run is covered if
//   low = predicted exp(q10) <= measured <= high = predicted exp(q90)
// with the quantiles that an error table (stack/error_table.hpp) gives for its conditions. The
// width of an interval is (high - low) / measured, like the error of a prediction.
//
//   add_intervals(validation, library, tables);   // one table per run, or the same for all
//   validation.intervals.covered;                 // 0.8 if intervals are right
#pragma once

#include <memory>
#include <vector>

#include "calibrate/validation.hpp"
#include "stack/error_table.hpp"

namespace nereus::calibrate {

inline constexpr double kIntervalLevel = 0.8;

// Fills the intervals of all rows, in all and by set. Suspect and failed runs do not count. For
// honest coverage, a run's table must not know the run's group.
void add_intervals(Validation& validation, const cost::StackLibrary& library,
                   const std::vector<std::shared_ptr<const cost::ErrorTable>>& tables);

}  // namespace nereus::calibrate
