#include "cli/explore_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "cli/plan_text.hpp"
#include "cost/prediction.hpp"

namespace nereus::cli {

namespace {

using app::ExploreAnswer;
using app::PointDetail;
using explore::Axis;
using explore::Goal;
using Json = nlohmann::ordered_json;

double value_of(const PointDetail& point, Goal goal) {
  return point.answer.found.values[static_cast<std::size_t>(goal)];
}

// The whole job, or one step where the study states none.
bool has_job(const ExploreAnswer& answer) {
  return std::any_of(answer.study.variants.begin(), answer.study.variants.end(),
                     [](const explore::Variant& v) { return v.samples > 0; });
}

bool knows_money(const ExploreAnswer& answer) {
  return std::any_of(answer.front.begin(), answer.front.end(),
                     [](const PointDetail& p) { return value_of(p, Goal::kMoney) > 0; });
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
                   {"points", "with every strategy", Unit::kCount},
                   {"evaluated", "predicted", Unit::kCount},
                   {"seconds", "took", Unit::kSeconds}};
  std::vector<Cell> row = {all.points, all.strategies, all.evaluated, answer.seconds};
  for (int i = 0; i < explore::kNumStatuses; ++i) {
    const std::int64_t count = all.by_status[static_cast<std::size_t>(i)];
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
        fmt::format("{} of them were there already", format_count(answer.resumed)));
  if (!answer.why.empty()) table.notes.push_back("nearest: " + answer.why);
  if (answer.best.empty() && answer.complete)
    table.notes.emplace_back(
        "no cluster has a plan: more memory or devices, looser constraints, or a wider [strategy]");
  if (!answer.complete)
    table.notes.emplace_back("stopped early: the same call goes on where it was");
  for (const std::string& rank : answer.lost_ranks)
    table.notes.push_back(fmt::format("{} was lost; others did its work", rank));
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
  if (has_job(answer)) row.emplace_back(value_of(point, Goal::kTime));
  if (knows_money(answer))
    row.push_back(value_of(point, Goal::kMoney) > 0 ? Cell(value_of(point, Goal::kMoney)) : Cell());
  if (wants(answer, Goal::kEnergy))
    row.emplace_back(format_significant(value_of(point, Goal::kEnergy) / 3.6e6));
  row.emplace_back(static_cast<std::int64_t>(value_of(point, Goal::kDevices)));
}

Table points_table(const ExploreAnswer& answer, const std::vector<PointDetail>& points,
                   std::string name, std::string title, std::size_t most) {
  Table table{.name = std::move(name), .title = std::move(title)};
  table.columns = {{"cluster", "cluster", Unit::kNone, false, true}};
  add_goal_columns(table, answer);
  table.columns.push_back({"binding", "waits for", Unit::kNone, false, false, 1});
  table.columns.push_back({"mfu", "MFU", Unit::kShare, false, false, 2});
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
    table.notes.push_back(fmt::format("{} of {} are shown; all are in the database", most,
                                      format_count(static_cast<std::int64_t>(points.size()))));
  return table;
}

Table machines_table(const ExploreAnswer& answer) {
  Table table = points_table(answer, answer.machines, "machines", "The best of each cluster", 50);
  double slowest = 0;
  for (const PointDetail& point : answer.machines)
    slowest = std::max(slowest, value_of(point, Goal::kTime));
  table.columns.insert(table.columns.begin() + 1, {"speedup", "times as fast"});
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const PointDetail& point = answer.machines[i];
    const auto& machine = answer.study.machines[static_cast<std::size_t>(point.answer.at.machine)];
    table.rows[i].front() = machine.name;
    table.rows[i].insert(table.rows[i].begin() + 1,
                         Cell(format_significant(slowest / value_of(point, Goal::kTime))));
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
              .title = fmt::format("What 10 % more buys at {}", answer.best.front().name)};
  table.columns = {{"resource", "10 % more"},
                   {"value", "now"},
                   {"same_plan", "buys, plan kept"},
                   {"best_plan", "with the best plan"},
                   {"layout", "which is", Unit::kNone, false, true, 1}};
  for (const explore::Sensitivity& own : answer.sensitivities) {
    table.rows.push_back({std::string(info(own.axis).title), value_text(own.axis, own.value),
                          gain_text(own.step, own.same_plan), gain_text(own.step, own.best_plan),
                          own.best_plan > 0 ? layout_text(own.degrees) : ""});
    if (own.axis == Axis::kMemory && own.surplus > 0)
      table.notes.push_back(
          fmt::format("the last {} of the memory buy nothing", format_bytes(Bytes{own.surplus})));
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
  if (!(per_hour > 0)) return "nothing at any price";
  std::string text = fmt::format("up to {} per {}", format_usd(UsdPerHour{per_hour}), unit.name);
  if (answer.study.prices.lifetime > 0)
    text += fmt::format(
        ", {} per {} over its life",
        format_usd(Usd{*own.unit_usd_per_s * unit.size * answer.study.prices.lifetime}), unit.name);
  return text;
}

Table break_even_table(const ExploreAnswer& answer) {
  Table table{.name = "break_even", .title = "What a resource may cost"};
  table.columns = {{"resource", "resource"},
                   {"from", "from"},
                   {"to", "to"},
                   {"gain", "buys"},
                   {"worth", "each further unit is worth", Unit::kNone, false, true}};
  for (const explore::BreakEven& own : answer.break_evens) {
    std::string gain = "-";
    if (own.time_from && own.time_to) gain = gain_text(*own.time_from, *own.time_to);
    table.rows.push_back({std::string(info(own.axis).title), value_text(own.axis, own.from),
                          value_text(own.axis, own.to), gain, worth_text(answer, own)});
  }
  return table;
}

Json number_or_null(double value) { return value > 0 ? Json(value) : Json(nullptr); }

Json degrees_json(const plan::Degrees& d) {
  Json json = {{"tp", d.tp},
               {"pp", d.pp},
               {"dp", d.dp},
               {"cp", d.cp},
               {"ep", d.ep},
               {"interleave", d.interleave},
               {"micro_batch", d.micro_batch},
               {"global_batch", d.global_batch},
               {"recompute", to_string(d.recompute)},
               {"recompute_blocks", d.recompute_blocks},
               {"zero", d.zero},
               {"zero_group", d.zero_group},
               {"sequence_parallel", d.sequence_parallel},
               {"tensor_overlap", d.tensor_overlap},
               {"data_overlap", d.data_overlap},
               {"precision", to_string(d.precision)},
               {"schedule", to_string(d.schedule)}};
  return json;
}

Json point_json(const ExploreAnswer& answer, const PointDetail& point) {
  const explore::Study& study = answer.study;
  const explore::Answer& own = point.answer;
  const explore::Variant& variant = study.variants[static_cast<std::size_t>(own.at.variant)];
  Json json;
  json["point"] = own.point;
  json["name"] = point.name;
  json["workload"] = variant.name;
  json["machine"] = study.machines[static_cast<std::size_t>(own.at.machine)].name;
  Json axes = Json::object();
  for (std::size_t i = 0; i < study.axes.size(); ++i) {
    const Axis axis = study.axes[i].axis;
    const double value = axis_value(study, own.at, i);
    axes[std::string(info(axis).name)] = info(axis).unit == explore::AxisUnit::kTopology
                                             ? Json(value_text(axis, value))
                                             : Json(value);
  }
  json["axes"] = std::move(axes);
  json["step_s"] = own.found.step;
  json["time_s"] = value_of(point, Goal::kTime);
  json["money_usd"] = number_or_null(value_of(point, Goal::kMoney));
  json["energy_j"] = number_or_null(value_of(point, Goal::kEnergy));
  json["devices"] = static_cast<std::int64_t>(value_of(point, Goal::kDevices));
  const double units = variant.global_batch * variant.units_per_sample();
  const double per_step = value_of(point, Goal::kEnergy) / variant.steps();
  json[variant.model.tokens_per_sample > 0 ? "tokens_per_s" : "samples_per_s"] =
      units / own.found.step;
  json[variant.model.tokens_per_sample > 0 ? "energy_j_per_token" : "energy_j_per_sample"] =
      number_or_null(per_step / units);
  json["model_flops_utilization"] = point.prediction.mfu;
  json["memory_bytes"] = own.found.memory;
  json["binding"] = to_string(own.found.binding);
  Json seconds = Json::object();
  for (int i = 0; i < explore::kNumResources; ++i)
    seconds[std::string(to_string(static_cast<explore::Resource>(i)))] =
        point.seconds[static_cast<std::size_t>(i)];
  json["resource_seconds"] = std::move(seconds);
  json["roofline"] = {{"flop_per_byte", point.roofline.intensity()},
                      {"ridge_flop_per_byte", point.roofline.ridge},
                      {"memory_bound_share", point.roofline.memory_bound}};
  json["quickest_without_memory_limit_s"] = number_or_null(own.beyond);
  json["degrees"] = degrees_json(own.found.degrees);
  Json parts = Json::object();
  for (int i = 0; i < cost::kNumParts; ++i)
    parts[std::string(to_string(static_cast<cost::Part>(i)))] =
        point.prediction.parts[static_cast<std::size_t>(i)];
  json["breakdown"] = std::move(parts);
  return json;
}

Json sensitivity_json(const explore::Sensitivity& own) {
  Json json;
  json["resource"] = info(own.axis).name;
  json["value"] = own.value;
  json["changed"] = own.changed;
  json["step_s"] = own.step;
  json["same_plan_step_s"] = number_or_null(own.same_plan);
  json["best_plan_step_s"] = number_or_null(own.best_plan);
  json["same_plan_gain"] = own.same_plan > 0 ? Json(own.step / own.same_plan - 1) : Json(nullptr);
  json["best_plan_gain"] = own.best_plan > 0 ? Json(own.step / own.best_plan - 1) : Json(nullptr);
  if (own.axis == Axis::kMemory) json["surplus_bytes"] = own.surplus;
  json["degrees"] = degrees_json(own.degrees);
  return json;
}

Json break_even_json(const explore::BreakEven& own) {
  Json json;
  json["resource"] = info(own.axis).name;
  json["from"] = own.from;
  json["to"] = own.to;
  json["time_from_s"] = own.time_from ? Json(*own.time_from) : Json(nullptr);
  json["time_to_s"] = own.time_to ? Json(*own.time_to) : Json(nullptr);
  json["needed"] = own.needed;
  json["usd_per_hour_per_unit"] =
      own.unit_usd_per_s ? Json(*own.unit_usd_per_s * 3600) : Json(nullptr);
  return json;
}

std::string json_of(const ExploreAnswer& answer) {
  const explore::Answers& all = answer.answers;
  Json json;
  json["study"] = answer.study.name;
  json["points"] = all.strategies;
  json["clusters"] = all.points;
  json["evaluated"] = all.evaluated;
  json["seconds"] = answer.seconds;
  json["complete"] = answer.complete;
  if (!answer.why.empty()) json["why"] = answer.why;
  json["resumed_clusters"] = answer.resumed;
  json["database"] = answer.database.empty() ? Json(nullptr) : Json(answer.database);
  Json statuses = Json::object();
  for (int i = 0; i < explore::kNumStatuses; ++i)
    statuses[std::string(to_string(static_cast<explore::Status>(i)))] =
        all.by_status[static_cast<std::size_t>(i)];
  json["statuses"] = std::move(statuses);
  Json bindings = Json::object();
  for (int i = 0; i < explore::kNumResources; ++i)
    bindings[std::string(to_string(static_cast<explore::Resource>(i)))] =
        all.by_binding[static_cast<std::size_t>(i)];
  json["bindings"] = std::move(bindings);
  json["best"] = answer.best.empty() ? Json(nullptr) : point_json(answer, answer.best.front());
  Json best = Json::object();
  for (std::size_t i = 0; i < answer.best.size(); ++i)
    best[std::string(to_string(answer.study.goals[i]))] = point_json(answer, answer.best[i]);
  json["best_by_goal"] = std::move(best);
  json["pareto_size"] = all.front.size();
  Json front = Json::array();
  for (const PointDetail& point : answer.front) front.push_back(point_json(answer, point));
  json["pareto"] = std::move(front);
  Json sensitivity = Json::array();
  for (const explore::Sensitivity& own : answer.sensitivities)
    sensitivity.push_back(sensitivity_json(own));
  json["sensitivity"] = std::move(sensitivity);
  Json even = Json::array();
  for (const explore::BreakEven& own : answer.break_evens) even.push_back(break_even_json(own));
  json["break_even"] = std::move(even);
  Json machines = Json::array();
  for (const PointDetail& point : answer.machines) machines.push_back(point_json(answer, point));
  json["machines"] = std::move(machines);
  Json marginals = Json::array();
  for (const explore::Marginal& own : all.marginals) {
    const auto& axis = answer.study.axes[own.axis];
    Json line;
    line["axis"] = info(axis.axis).name;
    const explore::AxisValue& value = axis.values[static_cast<std::size_t>(own.position)];
    line["value"] = value.value;
    line["relative"] = value.relative;
    line["best_step_s"] = own.best ? Json(own.best->found.step) : Json(nullptr);
    line["best_point"] = own.best ? Json(own.best->point) : Json(nullptr);
    marginals.push_back(std::move(line));
  }
  json["marginals"] = std::move(marginals);
  return json.dump();
}

}  // namespace

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
  report.json = json_of(answer);
  return report;
}

}  // namespace nereus::cli
