// A line chart over numbers or categories.
//
// A point whose y is not a number (or has no position on a logarithmic axis) breaks the line; below
// the plot, a cross in the color of its series marks its x, with the reason. Series differ by color
// and by the shape of their points, and from the ninth on by dashes.
//
//   Lines lines{.title = "step time by bandwidth", .x = {"bandwidth", Unit::kBytesPerSecond, true},
//               .y = {"step", Unit::kSeconds}, .series = {{"dp 8", {{50e9, 1.2}, {100e9, 1.0}}}}};
//   std::string svg = svg_of(lines, "fig4");
//
// With categories, the x of a point is the index of its category.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "chart/axis.hpp"

namespace nereus::chart {

struct LinePoint {
  double x = 0;
  double y = std::numeric_limits<double>::quiet_NaN();
};

struct LineSeries {
  std::string name;
  std::vector<LinePoint> points;  // in any order
};

struct Lines {
  std::string title;
  Axis x;
  Axis y;
  std::vector<std::string> categories;
  std::vector<LineSeries> series;
  std::string gap_reason = "does not fit";
};

std::string svg_of(const Lines& lines, std::string_view id);

}  // namespace nereus::chart
