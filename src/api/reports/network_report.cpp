#include "api/reports/network_report.hpp"

#include <fmt/format.h>

#include "api/form/json.hpp"
#include "api/form/report.hpp"

namespace nereus::api {

namespace {

Table rows_table(const app::ValidateNetworkAnswer& answer) {
  Table table{.name = "results",
              .columns = {{"line", "line"},
                          {"what", "what"},
                          {answer.measured ? "measured_s" : "reference_s",
                           answer.measured ? "measured" : "ASTRA-sim", Unit::kSeconds},
                          {"predicted_s", "predicted", Unit::kSeconds},
                          {"error", "error", Unit::kShare}}};
  for (const app::NetworkRow& row : answer.used)
    table.rows.push_back({row.line, row.what, row.reference_ns * 1e-9, row.predicted_ns * 1e-9,
                          row.predicted_ns / row.reference_ns - 1});
  return table;
}

std::string fitted_text(const simulate::NcclNumbers& n) {
  return fmt::format(
      "floor {}, efficiency {:.1f} % of the link rate, {} per step, tail {:.2f} of "
      "a step",
      human(n.floor, Unit::kSeconds), 100 * n.efficiency, human(n.step, Unit::kSeconds), n.tail);
}

Table summary(const app::ValidateNetworkAnswer& answer) {
  Table table{.name = "overall", .record = true};
  std::vector<Cell> row;
  const auto add = [&](std::string key, std::string title, std::string text) {
    table.columns.push_back({std::move(key), std::move(title), Unit::kNone, false, true});
    row.push_back(std::move(text));
  };
  std::string skipped;
  for (const auto& [why, count] : answer.skipped)
    skipped += fmt::format("{} {}: {}", skipped.empty() ? "; skipped" : ",", count, why);
  add("rows", "rows", fmt::format("{}: {} used{}", answer.rows, answer.used.size(), skipped));
  add("error", "error",
      fmt::format("{:.1f} % mean, {:.1f} % worst", 100 * answer.mean_abs_error,
                  100 * answer.max_abs_error));
  add("exact", "exact", fmt::format("{} equal to the nanosecond", answer.exact));
  if (answer.fitted) add("fitted", "fitted", fitted_text(*answer.fitted));
  if (answer.leave_one_size_out_error)
    add("leave_one_size_out", "held-out sizes",
        fmt::format("{:.1f} % mean; each size is predicted from the others",
                    100 * *answer.leave_one_size_out_error));
  if (answer.built_in_mean_abs_error)
    add("built_in", "built-in parameters",
        fmt::format("{:.1f} % mean", 100 * *answer.built_in_mean_abs_error));
  table.rows.push_back(std::move(row));
  return table;
}

std::string json_text(const app::ValidateNetworkAnswer& answer, bool rows) {
  Json json;
  json["rows"] = answer.rows;
  json["used"] = answer.used.size();
  json["skipped"] = answer.skipped;
  json["mean_abs_error"] = answer.mean_abs_error;
  json["max_abs_error"] = answer.max_abs_error;
  json["exact"] = answer.exact;
  if (answer.measured) {
    Json numbers = Json::object();
    if (const auto& n = answer.fitted)
      numbers = {{"floor_s", n->floor},
                 {"link_efficiency", n->efficiency},
                 {"step_s", n->step},
                 {"tail", n->tail}};
    json["fitted_parameters"] = numbers.size();
    json["parameters"] = numbers;
    json["leave_one_size_out_error"] =
        answer.leave_one_size_out_error ? Json(*answer.leave_one_size_out_error) : Json(nullptr);
    if (answer.built_in_mean_abs_error)
      json["built_in_mean_abs_error"] = *answer.built_in_mean_abs_error;
  }
  if (rows) json["results"] = Json::parse(render_json({.tables = {rows_table(answer)}}))["results"];
  return json.dump(2);
}

}  // namespace

Report network_report(const app::ValidateNetworkAnswer& answer, bool rows, bool rows_only) {
  Report report{.tables = {summary(answer)}};
  if (rows && rows_only)
    report.tables = {rows_table(answer)};
  else if (rows)
    report.tables.push_back(rows_table(answer));
  report.json = json_text(answer, rows);
  return report;
}

}  // namespace nereus::api
