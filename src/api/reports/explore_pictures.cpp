#include "api/reports/explore_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "chart/heat_map.hpp"
#include "chart/lines.hpp"
#include "chart/scatter.hpp"
#include "chart/stacked_bars.hpp"
#include "predict/prediction.hpp"

namespace nereus::api {

namespace {

using app::ExploreAnswer;
using app::PointDetail;
using explore::Goal;

chart::Axis goal_axis(Goal goal) {
  switch (goal) {
    case Goal::kTime:
      return {.title = "time", .unit = Unit::kSeconds, .log = true};
    case Goal::kMoney:
      return {.title = "money", .unit = Unit::kUsd, .log = true};
    case Goal::kEnergy:
      return {.title = "energy (J)", .unit = Unit::kNone, .log = true};
    case Goal::kDevices:
      return {.title = "devices", .unit = Unit::kCount, .log = true};
  }
  return {};
}

std::string front_picture(const ExploreAnswer& answer) {
  const auto x = answer.study.goals[0];
  const auto y = answer.study.goals[1];
  chart::Scatter scatter;
  scatter.title = fmt::format("{} against {}", to_string(y), to_string(x));
  scatter.x = goal_axis(x);
  scatter.y = goal_axis(y);
  scatter.point_name = "best plans of other clusters";
  std::set<std::pair<double, double>> on_front;
  for (const PointDetail& point : answer.front)
    on_front.emplace(point.answer.found.values[static_cast<std::size_t>(x)],
                     point.answer.found.values[static_cast<std::size_t>(y)]);
  for (const auto& [first, second] : answer.answers.sample)
    if (!on_front.contains({first, second})) scatter.points.push_back({.x = first, .y = second});
  for (const PointDetail& point : answer.front)
    scatter.points.push_back({.x = point.answer.found.values[static_cast<std::size_t>(x)],
                              .y = point.answer.found.values[static_cast<std::size_t>(y)],
                              .label = point.name,
                              .front = true});
  return svg_of(scatter, "front");
}

// Parts that any of the bars has, in the order of a step.
std::string time_picture(const std::string& title, const std::string& id,
                         const std::vector<std::pair<std::string, cost::Prediction>>& bars) {
  chart::StackedBars picture{.title = title};
  std::vector<int> parts;
  for (int i = 0; i < cost::kNumParts; ++i) {
    const auto share = [&](const auto& bar) {
      return bar.second.parts[i] > 0.002 * bar.second.step;
    };
    if (!std::any_of(bars.begin(), bars.end(), share)) continue;
    parts.push_back(i);
    std::string name(to_string(static_cast<cost::Part>(i)));
    std::replace(name.begin(), name.end(), '_', ' ');
    picture.parts.push_back(name);
  }
  for (const auto& [name, prediction] : bars) {
    chart::Bar bar{name, {}};
    for (const int part : parts) bar.parts.push_back(prediction.parts[part]);
    picture.bars.push_back(std::move(bar));
  }
  return svg_of(picture, id);
}

std::string heat_picture(const ExploreAnswer& answer, const explore::Slice& slice,
                         const std::string& id) {
  const explore::Axis axis = answer.study.axes[slice.axis].axis;
  chart::HeatMap map;
  map.title = fmt::format("Step by layout and {}", info(axis).title);
  map.rows = slice.rows;
  map.row_title = "layout";
  map.column_title = std::string(info(axis).title);
  map.value_title = "step";
  map.unit = Unit::kSeconds;
  map.log = true;
  for (const double value : slice.values) map.columns.push_back(value_text(axis, value));
  for (const auto& row : slice.cells) {
    auto& cells = map.cells.emplace_back();
    for (const explore::SliceCell& cell : row) {
      chart::HeatCell own;
      if (cell.fits)
        own.value = cell.step;
      else
        own.reason = cell.step > 0 ? "does not fit" : "not among the best";
      cells.push_back(std::move(own));
    }
  }
  return svg_of(map, id);
}

// The best of all points with each value of an axis.
std::string marginal_picture(const ExploreAnswer& answer, std::size_t axis_index,
                             const std::string& id) {
  const explore::StudyAxis& axis = answer.study.axes[axis_index];
  const Goal goal = answer.study.goals.front();
  chart::Lines lines;
  lines.title = fmt::format("Best {} by {}", to_string(goal), info(axis.axis).title);
  lines.x = {.title = std::string(info(axis.axis).title)};
  lines.y = goal_axis(goal);
  lines.y.log = false;
  lines.y.from_zero = true;
  lines.gap_reason = "no plan found";
  chart::LineSeries series{"best plan on the best cluster", {}};
  for (const explore::Marginal& own : answer.answers.marginals) {
    if (own.axis != axis_index) continue;
    const auto position = static_cast<std::size_t>(own.position);
    const explore::AxisValue& value = axis.values[position];
    lines.categories.push_back(value.relative ? fmt::format("x{:g}", value.value)
                                              : value_text(axis.axis, value.value));
    chart::LinePoint point{static_cast<double>(own.position)};
    if (own.best) point.y = own.best->found.values[static_cast<std::size_t>(goal)];
    series.points.push_back(point);
  }
  lines.series.push_back(std::move(series));
  return svg_of(lines, id);
}

// Best plans along the first axis, else of each machine.
std::vector<std::pair<std::string, cost::Prediction>> bars_of(const ExploreAnswer& answer) {
  std::vector<std::pair<std::string, cost::Prediction>> bars;
  constexpr std::size_t kMost = 24;
  if (!answer.machines.empty()) {
    for (const PointDetail& point : answer.machines)
      bars.emplace_back(answer.study.machines[point.answer.at.machine].name, point.prediction);
  } else {
    const bool along = answer.along.size() > 1;
    for (const PointDetail& point : along ? answer.along : answer.front)
      bars.emplace_back(point.name, point.prediction);
  }
  if (bars.size() > kMost) bars.resize(kMost);
  return bars;
}

}  // namespace

std::vector<StudyPicture> explore_pictures(const ExploreAnswer& answer) {
  using Kind = StudyPicture::Kind;
  std::vector<StudyPicture> out;
  if (answer.best.empty()) return out;
  if (answer.study.goals.size() > 1)
    out.push_back(
        {Kind::kFront, "front", front_picture(answer), "Down and to the left is better."});
  out.push_back({Kind::kTime, "time",
                 time_picture("Exposed seconds by cause", "time", bars_of(answer)),
                 "The time a step would save without each part, with all else equal."});
  constexpr std::size_t kWidest = 64;
  for (std::size_t i = 0; i < answer.study.axes.size(); ++i) {
    const explore::StudyAxis& axis = answer.study.axes[i];
    if (axis.values.size() < 2 || axis.values.size() > kWidest) continue;
    const std::string name = fmt::format("axis-{}", info(axis.axis).name);
    out.push_back({Kind::kAxis, name, marginal_picture(answer, i, name),
                   "For each value, all other axes are chosen best."});
  }
  for (const explore::Slice& slice : answer.slices) {
    const std::string name = fmt::format("heat-{}", info(answer.study.axes[slice.axis].axis).name);
    out.push_back({Kind::kAxis, name, heat_picture(answer, slice, name),
                   fmt::format("All other axes have the values of {}.", answer.best.front().name)});
  }
  return out;
}

}  // namespace nereus::api
