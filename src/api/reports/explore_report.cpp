#include "api/reports/explore_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/reports/explore_json.hpp"
#include "api/reports/plan_text.hpp"
#include "base/format.hpp"

namespace nereus::api {

namespace {

using app::ExploreAnswer;
using app::PointDetail;
using explore::Axis;
using explore::Goal;

// Whether the study is about a whole job; if not, it is about one step.
bool has_job(const ExploreAnswer& answer) {
  return std::any_of(answer.study.variants.begin(), answer.study.variants.end(),
                     [](const explore::Variant& v) { return v.samples > 0; });
}

bool knows_money(const ExploreAnswer& answer) {
  return std::any_of(answer.front.begin(), answer.front.end(),
                     [](const PointDetail& p) { return p.value(Goal::kMoney) > 0; });
}

bool wants(const ExploreAnswer& answer, Goal goal) {
  const auto& goals = answer.study.goals;
  return std::find(goals.begin(), goals.end(), goal) != goals.end();
}

Table summary_table(const ExploreAnswer& answer) {
  const explore::Answers& all = answer.answers;
  Table table{.name = "", .title = answer.study.name};
  table.record = true;
  table.columns = {{"clusters", "clusters x models", Unit::kCount},
                   {"points", "candidate plans", Unit::kCount},
                   {"evaluated", "predicted", Unit::kCount},
                   {"seconds", "took", Unit::kSeconds}};
  std::vector<Cell> row = {all.points, all.strategies, all.evaluated, answer.seconds};
  for (int i = 0; i < explore::kNumStatuses; ++i) {
    const std::int64_t count = all.by_status[i];
    if (count == 0) continue;
    const std::string name(to_string(static_cast<explore::Status>(i)));
    table.columns.push_back({name, name, Unit::kCount});
    row.emplace_back(count);
  }
  if (!answer.database.empty()) {
    table.columns.push_back({"database", "kept in"});
    row.emplace_back(answer.database);
  }
  table.rows.push_back(std::move(row));
  if (answer.resumed > 0)
    table.notes.push_back(
        fmt::format("{} already in the database",
                    counted(format_count(answer.resumed), "of them was", "of them were")));
  for (std::string& note : study_notes(answer.study)) table.notes.push_back(std::move(note));
  if (!answer.why.empty()) table.notes.push_back("nearest: " + answer.why);
  if (answer.best.empty() && answer.complete)
    table.notes.emplace_back(
        "no cluster has a plan that fits; try more memory or devices, looser constraints, or a "
        "wider [strategy]");
  if (!answer.complete)
    table.notes.push_back(
        fmt::format("stopped early at {} of {}; the same command resumes from "
                    "there",
                    format_count(all.points), format_count(answer.study.num_points())));
  for (const std::string& rank : answer.lost_ranks)
    table.notes.push_back(fmt::format("{} was lost; other ranks did its work", rank));
  return table;
}

void add_goal_columns(Table& table, const ExploreAnswer& answer) {
  table.columns.push_back({"step_s", "step", Unit::kSeconds});
  if (has_job(answer)) table.columns.push_back({"time_s", "job", Unit::kSeconds});
  if (knows_money(answer)) table.columns.push_back({"money_usd", "money", Unit::kUsd});
  if (wants(answer, Goal::kEnergy)) table.columns.push_back({"energy_kwh", "kWh"});
  table.columns.push_back({"devices", "devices", Unit::kCount});
}

void add_goal_cells(std::vector<Cell>& row, const PointDetail& point, const ExploreAnswer& answer) {
  row.emplace_back(point.answer.found.step);
  if (has_job(answer)) row.emplace_back(point.value(Goal::kTime));
  if (knows_money(answer))
    row.push_back(point.value(Goal::kMoney) > 0 ? Cell(point.value(Goal::kMoney)) : Cell());
  if (wants(answer, Goal::kEnergy))
    row.emplace_back(format_significant(point.value(Goal::kEnergy) / 3.6e6));
  row.emplace_back(static_cast<std::int64_t>(point.value(Goal::kDevices)));
}

Table points_table(const ExploreAnswer& answer, const std::vector<PointDetail>& points,
                   std::string name, std::string title, std::size_t most) {
  Table table{.name = std::move(name), .title = std::move(title)};
  table.columns = {{"cluster", "cluster", Unit::kNone, false, true}};
  add_goal_columns(table, answer);
  table.columns.push_back({"binding", "waits for", Unit::kNone, false, false, 2});
  table.columns.push_back({"mfu", "MFU", Unit::kShare, false, false, 1});
  table.columns.push_back({"layout", "layout", Unit::kNone, false, true});
  table.columns.push_back({"manner", "how", Unit::kNone, false, true, 3});
  for (const PointDetail& point : points) {
    if (table.rows.size() == most) break;
    std::vector<Cell> row = {point.name};
    add_goal_cells(row, point, answer);
    row.emplace_back(std::string(to_string(point.answer.found.binding)));
    row.emplace_back(point.prediction.mfu);
    row.emplace_back(layout_text(point.answer.found.degrees));
    row.emplace_back(manner_text(point.answer.found.degrees));
    table.rows.push_back(std::move(row));
  }
  if (points.size() > most)
    table.notes.push_back(fmt::format("{} of {} are shown; the database contains all", most,
                                      format_count(static_cast<std::int64_t>(points.size()))));
  return table;
}

std::string stack_of(const ExploreAnswer& answer, const PointDetail& point) {
  const auto& at = point.answer.at;
  return answer.study.machines[at.machine].basis_for(answer.study.variants[at.variant]).stack.name;
}

Table machines_table(const ExploreAnswer& answer) {
  Table table = points_table(answer, answer.machines, "machines", "Best plan of each cluster", 50);
  double slowest = 0;
  for (const PointDetail& point : answer.machines)
    slowest = std::max(slowest, point.value(Goal::kTime));
  table.columns.insert(table.columns.begin() + 1, {"speedup", "speedup"});
  std::set<std::string> stacks;
  for (const PointDetail& point : answer.machines) stacks.insert(stack_of(answer, point));
  if (stacks.size() > 1)
    table.columns.push_back({"stack", "software", Unit::kNone, false, false, 1});
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const PointDetail& point = answer.machines[i];
    const auto& machine = answer.study.machines[point.answer.at.machine];
    table.rows[i].front() = machine.name;
    table.rows[i].insert(table.rows[i].begin() + 1,
                         Cell(format_significant(slowest / point.value(Goal::kTime))));
    if (stacks.size() > 1) table.rows[i].emplace_back(stack_of(answer, point));
  }
  return table;
}

// "+3.1 %", of throughput.
std::string gain_text(double before, double after) {
  if (!(after > 0)) return "does not fit";
  const double gain = before / after - 1;
  if (std::abs(gain) < 5e-5) return "nothing";
  return fmt::format("{:+.1f} %", 100 * gain);
}

Table sensitivity_table(const ExploreAnswer& answer) {
  Table table{.name = "sensitivity",
              .title = fmt::format("Gain from 10 % more of each resource, for {}",
                                   answer.best.front().name)};
  table.columns = {{"resource", "10 % more"},
                   {"value", "now"},
                   {"same_plan", "gain, same plan"},
                   {"best_plan", "gain, best plan"},
                   {"layout", "its layout", Unit::kNone, false, true, 1}};
  for (const explore::Sensitivity& own : answer.sensitivities) {
    table.rows.push_back({std::string(info(own.axis).title), value_text(own.axis, own.value),
                          gain_text(own.step, own.same_plan), gain_text(own.step, own.best_plan),
                          own.best_plan > 0 ? layout_text(own.degrees) : ""});
    if (own.axis == Axis::kMemory && own.surplus > 0)
      table.notes.push_back(
          fmt::format("the last {} of the memory gain nothing", format_bytes(Bytes{own.surplus})));
  }
  return table;
}

// A unit that prices of a resource are said in.
struct PriceUnit {
  double size;
  const char* name;
};
PriceUnit price_unit(Axis axis) {
  switch (info(axis).unit) {
    case explore::AxisUnit::kBytes:
      return {1e9, "GB"};
    case explore::AxisUnit::kBytesPerSecond:
      return {1e9, "GB/s"};
    default:
      return {1e12, "TFLOP/s"};
  }
}

std::string worth_text(const ExploreAnswer& answer, const explore::BreakEven& own) {
  if (own.needed) return "nothing fits without it";
  if (!own.time_to) return "nothing fits with it";
  if (!own.unit_usd_per_s) return "no price is known";
  const PriceUnit unit = price_unit(own.axis);
  const double per_hour = *own.unit_usd_per_s * unit.size * 3600;
  if (!(per_hour > 0)) return "nothing";
  std::string text = fmt::format("up to {} per {}", format_usd(UsdPerHour{per_hour}), unit.name);
  if (answer.study.prices.lifetime > 0)
    text += fmt::format(
        ", or {} per {} over its lifetime",
        format_usd(Usd{*own.unit_usd_per_s * unit.size * answer.study.prices.lifetime}), unit.name);
  return text;
}

Table break_even_table(const ExploreAnswer& answer) {
  Table table{.name = "break_even", .title = "Value of each resource"};
  table.columns = {{"resource", "resource"},
                   {"from", "from"},
                   {"to", "to"},
                   {"gain", "gain"},
                   {"worth", "value of each further unit", Unit::kNone, false, true}};
  for (const explore::BreakEven& own : answer.break_evens) {
    std::string gain = "-";
    if (own.time_from && own.time_to) gain = gain_text(*own.time_from, *own.time_to);
    table.rows.push_back({std::string(info(own.axis).title), value_text(own.axis, own.from),
                          value_text(own.axis, own.to), gain, worth_text(answer, own)});
  }
  return table;
}

}  // namespace

std::vector<std::string> study_notes(const explore::Study& study) {
  std::vector<std::string> notes;
  std::set<std::string> stacks;
  for (const explore::StudyMachine& machine : study.machines)
    for (const auto& [number, basis] : machine.bases) stacks.insert(basis.stack.name);
  if (stacks.size() > 1)
    notes.push_back(fmt::format(
        "predicted for different software stacks ({}), the usual one for each device and model; "
        "stack = \"...\" in the study sets one for all",
        fmt::join(stacks, ", ")));
  std::vector<std::string_view> free;
  for (const explore::StudyAxis& own : study.axes)
    if (is_resource(own.axis) && own.values.size() > 1 &&
        study.prices.usd_per_s[static_cast<std::size_t>(own.axis)] == 0)
      free.push_back(info(own.axis).title);
  const bool money =
      std::find(study.goals.begin(), study.goals.end(), Goal::kMoney) != study.goals.end();
  if (money && !free.empty())
    notes.push_back(
        fmt::format("[prices] has no price for these resources, so more of them is "
                    "free here: {}",
                    fmt::join(free, ", ")));
  const auto unbuildable =
      std::find_if(study.variants.begin(), study.variants.end(),
                   [](const explore::Variant& v) { return !v.unbuildable.empty(); });
  if (unbuildable != study.variants.end())
    notes.push_back(
        fmt::format("{} cannot be built: {}", unbuildable->name, unbuildable->unbuildable));
  return notes;
}

Report explore_report(const ExploreAnswer& answer) {
  Report report;
  constexpr std::size_t kRows = 20;
  const bool front = answer.study.goals.size() > 1;
  if (!answer.best.empty()) {
    if (front)
      report.tables.push_back(points_table(answer, answer.front, "pareto", "Pareto front", kRows));
    else
      report.tables.push_back(points_table(answer, answer.best, "best", "Best", kRows));
    if (!answer.machines.empty()) report.tables.push_back(machines_table(answer));
    if (!answer.sensitivities.empty()) report.tables.push_back(sensitivity_table(answer));
    if (!answer.break_evens.empty()) report.tables.push_back(break_even_table(answer));
  }
  report.tables.push_back(summary_table(answer));
  report.json = explore_json(answer);
  return report;
}

}  // namespace nereus::api
