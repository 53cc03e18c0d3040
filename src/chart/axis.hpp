// Axes: convert values to pixels, with round ticks in a suitable unit.
//
// A linear axis has steps of 1, 2 or 5 times a power of ten in the unit of its largest value (20
// min, not 1200 s), with one unit for all labels. A logarithmic axis has powers of ten, and 2 and 5
// times them if there is space; times use seconds, minutes, hours and days, bytes use powers of
// two. If the range of a logarithmic axis is too small for these ticks, it has linear ticks at
// logarithmic positions.
//
// Invariants: ticks are ascending and within [low, high], and all have different labels. A value
// has no position if it is not finite, beyond 1e100, or not positive on a logarithmic axis.
//
//   Axis axis{.title = "step time", .unit = Unit::kSeconds, .log = true};
//   AxisScale x = make_scale(axis, values, 60, 700, 8);
//   x.at(0.1);   // pixels
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/format.hpp"

namespace nereus::chart {

struct Axis {
  std::string title;
  Unit unit = Unit::kNone;
  bool log = false;
  bool from_zero = false;  // linear axes only
  bool lower_is_better = true;
  bool operator==(const Axis&) const = default;
};

struct Tick {
  double value = 0;
  std::string label;
};

struct AxisScale {
  double low = 0;
  double high = 1;
  bool log = false;
  double from = 0;  // pixels of low
  double to = 1;    // pixels of high
  std::vector<Tick> ticks;

  double share(double value) const;  // 0 at low, 1 at high
  double at(double value) const { return from + (to - from) * share(value); }
};

bool has_place(double value, bool log);

// Where an axis ends. kRound: at ticks, or slightly beyond the values. kTight: at the values.
enum class Ends { kRound, kTight };

// Values without a position are ignored. If no value is left, the axis goes from 0 to 1
// (logarithmic: from 1 to 10).
AxisScale make_scale(const Axis& axis, std::span<const double> values, double from, double to,
                     int max_ticks, Ends ends = Ends::kRound);

}  // namespace nereus::chart
