#include "cli/explore_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/build_info.hpp"
#include "base/format.hpp"
#include "chart/heat_map.hpp"
#include "chart/lines.hpp"
#include "chart/page.hpp"
#include "chart/scatter.hpp"
#include "chart/stacked_bars.hpp"
#include "cli/explore_report.hpp"
#include "cli/output.hpp"
#include "cost/prediction.hpp"

namespace nereus::cli {

namespace {

using app::ExploreAnswer;
using app::PointDetail;
using explore::Goal;

chart::PageTable page_table(const Table& table) {
  chart::PageTable out{table.title, {}, {}};
  for (const Column& column : table.columns) {
    const bool numeric = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      return row[static_cast<std::size_t>(&column - table.columns.data())].is_number();
    });
    out.columns.push_back({column.title, numeric});
  }
  for (const std::vector<Cell>& row : table.rows) {
    std::vector<chart::PageCell>& cells = out.rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      chart::PageCell cell{cell_text(row[i], table.columns[i])};
      if (row[i].is_number()) cell.number = row[i].number();
      cells.push_back(std::move(cell));
    }
  }
  return out;
}

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
  for (const auto& [first, second] : answer.answers.sample)
    scatter.points.push_back({.x = first, .y = second});
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
      return bar.second.parts[static_cast<std::size_t>(i)] > 0.002 * bar.second.step;
    };
    if (!std::any_of(bars.begin(), bars.end(), share)) continue;
    parts.push_back(i);
    std::string name(to_string(static_cast<cost::Part>(i)));
    std::replace(name.begin(), name.end(), '_', ' ');
    picture.parts.push_back(name);
  }
  for (const auto& [name, prediction] : bars) {
    chart::Bar bar{name, {}};
    for (const int part : parts)
      bar.parts.push_back(prediction.parts[static_cast<std::size_t>(part)]);
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

std::string percent(double gain) { return fmt::format("{:.1f} %", 100 * gain); }

// "10 % more network bandwidth buys 3.1 %."
std::vector<std::string> sensitivity_sentences(const ExploreAnswer& answer) {
  std::vector<std::string> out;
  for (const explore::Sensitivity& own : answer.sensitivities) {
    const double gain = own.best_plan > 0 ? own.step / own.best_plan - 1 : 0;
    if (gain > 5e-4)
      out.push_back(fmt::format("10 % more {} buys {}.", info(own.axis).title, percent(gain)));
    if (own.axis == explore::Axis::kMemory && own.surplus > 0)
      out.push_back(fmt::format("The last {} of each device's memory buy nothing.",
                                format_bytes(Bytes{own.surplus})));
  }
  if (out.empty()) out.emplace_back("10 % more of any one resource buys nothing here.");
  return {fmt::format("{}", fmt::join(out, " "))};
}

std::string lead(const ExploreAnswer& answer) {
  const explore::Answers& all = answer.answers;
  std::string text = fmt::format(
      "{} clusters and models, {} plans with every strategy, of which {} were predicted and the "
      "others cut by a bound that cannot cut the best.",
      format_count(all.points), format_count(all.strategies), format_count(all.evaluated));
  if (answer.best.empty()) return text + " Nothing fits.";
  const PointDetail& best = answer.best.front();
  return text + fmt::format(" Best: {}, {} a step; it waits most for {}.", best.name,
                            format_seconds(Seconds{best.answer.found.step}),
                            to_string(best.answer.found.binding));
}

const Table* find(const Report& report, std::string_view name) {
  for (const Table& table : report.tables)
    if (table.name == name) return &table;
  return nullptr;
}

// Best plans along the first axis, else of each machine.
std::vector<std::pair<std::string, cost::Prediction>> bars_of(const ExploreAnswer& answer) {
  std::vector<std::pair<std::string, cost::Prediction>> bars;
  constexpr std::size_t kMost = 24;
  if (!answer.machines.empty()) {
    for (const PointDetail& point : answer.machines)
      bars.emplace_back(
          answer.study.machines[static_cast<std::size_t>(point.answer.at.machine)].name,
          point.prediction);
  } else {
    const bool along = answer.along.size() > 1;
    for (const PointDetail& point : along ? answer.along : answer.front)
      bars.emplace_back(point.name, point.prediction);
  }
  if (bars.size() > kMost) bars.resize(kMost);
  return bars;
}

}  // namespace

std::string explore_page(const ExploreAnswer& answer) {
  const Report report = explore_report(answer);
  chart::Page page{.title = answer.study.name, .lead = lead(answer)};
  const auto tables = [&](chart::PageSection& section, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (const Table* table = find(report, name)) {
        section.tables.push_back(page_table(*table));
        for (const std::string& note : table->notes) section.paragraphs.push_back(note);
      }
  };
  if (!answer.best.empty()) {
    chart::PageSection best{.title = answer.study.goals.size() > 1 ? "Pareto front" : "Best"};
    if (answer.study.goals.size() > 1)
      best.pictures.push_back({front_picture(answer), "Down and to the left is better."});
    tables(best, {"pareto", "best"});
    page.sections.push_back(std::move(best));

    chart::PageSection time{.title = "Where the time of a step goes"};
    time.pictures.push_back({time_picture("Exposed seconds by cause", "time", bars_of(answer)),
                             "What a step would lose without each part, all else as it is."});
    tables(time, {"machines"});
    page.sections.push_back(std::move(time));

    chart::PageSection axes{.title = "Along each axis"};
    int number = 0;
    for (std::size_t i = 0; i < answer.study.axes.size(); ++i) {
      if (answer.study.axes[i].values.size() < 2 || answer.study.axes[i].values.size() > 64)
        continue;
      axes.pictures.push_back({marginal_picture(answer, i, fmt::format("axis{}", number++)),
                               "All other axes as is best for each value."});
    }
    for (const explore::Slice& slice : answer.slices)
      axes.pictures.push_back({heat_picture(answer, slice, fmt::format("heat{}", number++)),
                               fmt::format("All other axes as at {}.", answer.best.front().name)});
    if (!axes.pictures.empty()) page.sections.push_back(std::move(axes));

    chart::PageSection more{.title = "What more of each resource buys"};
    more.paragraphs = sensitivity_sentences(answer);
    tables(more, {"sensitivity", "break_even"});
    page.sections.push_back(std::move(more));
  }
  chart::PageSection how{.title = "How it was reckoned"};
  how.paragraphs = {
      "Every plan is predicted in closed form by a model that was fitted to measured runs; the "
      "devices of this study keep the efficiencies of the device they were derived from. Prices "
      "and power are those of the study and of the catalogue."};
  page.sections.push_back(std::move(how));
  page.footer.command = fmt::format("nereus explore {}", answer.study.source);
  page.footer.version = fmt::format("Nereus {} ({})", build_info().version, build_info().commit);
  page.footer.inputs = {answer.study.text};
  return html_of(page);
}

}  // namespace nereus::cli
