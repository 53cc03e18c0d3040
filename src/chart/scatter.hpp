// A scatter plot of many points; those on the front are highlighted and connected by a step line.
//
// The step line bounds the region that the front dominates: from a point it continues at the same y
// until the next point is better (in the other direction if a larger x is better). Front points
// have labels if these do not overlap (chart/label_layout.hpp); the ends come first, with at most
// 16 labels.
//
// Up to 1,500 other points are drawn individually, with tooltips. If there are more, they are
// counted in squares of 5 pixels with a shade by their number (1, 2 to 9, 10 to 99, 100 and more),
// and a note says so; 100,000 points give a file below 200 kB. Points without a position on an axis
// (chart/axis.hpp) are left out and counted in the note.
//
//   Scatter scatter{.title = "cost against time", .x = {"step", Unit::kSeconds, true}, ...};
//   scatter.points.push_back({.x = 1.2, .y = 30, .label = "tp 8 pp 2", .front = true});
//   std::string svg = svg_of(scatter, "fig3");
#pragma once

#include <string>
#include <vector>

#include "chart/axis.hpp"

namespace nereus::chart {

struct ScatterPoint {
  double x = 0;
  double y = 0;
  std::string label = {};
  bool front = false;
  bool operator==(const ScatterPoint&) const = default;
};

struct Scatter {
  std::string title;
  Axis x;
  Axis y;
  std::vector<ScatterPoint> points;
  std::string front_name = "Pareto front";
  std::string point_name = "other points";
  bool operator==(const Scatter&) const = default;
};

// `id` is a prefix of all ids of the picture; pictures of one page need different ones.
std::string svg_of(const Scatter& scatter, std::string_view id);

}  // namespace nereus::chart
