#include "api/reports/compare_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/form/json.hpp"
#include "api/reports/prediction_report.hpp"
#include "base/format.hpp"

namespace nereus::api {

namespace {

using app::PredictAnswer;

std::string times_text(double a, double b) {
  const double more = std::abs(a / b - 1);
  if (more < 0.0005) return "as long as";
  return fmt::format("{:.1f} % {} than", 100 * more, a > b ? "longer" : "shorter");
}

// The parts that decide, the largest difference first: "0.31 s more bubble, 0.1 s less recompute".
std::string reasons(const PredictAnswer& a, const PredictAnswer& b) {
  std::vector<std::pair<double, std::string>> list;
  for (int i = 0; i < cost::kNumParts; ++i) {
    const auto part = static_cast<cost::Part>(i);
    const double more = a.prediction.part(part) - b.prediction.part(part);
    if (std::abs(more) > 0.002 * b.prediction.step)
      list.emplace_back(std::abs(more),
                        fmt::format("{} {} {}", human(std::abs(more), Unit::kSeconds),
                                    more > 0 ? "more" : "less", to_string(part)));
  }
  std::sort(list.begin(), list.end(),
            [](const auto& x, const auto& y) { return x.first > y.first; });
  std::vector<std::string> words;
  for (const auto& [size, text] : list) words.push_back(text);
  return words.empty() ? "nearly equal in every part" : fmt::format("{}", fmt::join(words, ", "));
}

std::string plan_name(const PredictAnswer& answer) {
  return answer.plan.degrees ? degrees_text(*answer.plan.degrees) : "an irregular placement";
}

Table parts_table(const PredictAnswer& a, const PredictAnswer& b) {
  Table table{.name = "time",
              .title = "Where the time goes",
              .columns = {{"part", "part"},
                          {"a_s", "A", Unit::kSeconds},
                          {"b_s", "B", Unit::kSeconds},
                          {"difference_s", "B - A", Unit::kSeconds}}};
  for (int i = 0; i < cost::kNumParts; ++i) {
    const auto part = static_cast<cost::Part>(i);
    const double x = a.prediction.part(part);
    const double y = b.prediction.part(part);
    if (x > 0 || y > 0) table.rows.push_back({std::string(to_string(part)), x, y, y - x});
  }
  table.rows.push_back(
      {"step", a.prediction.step, b.prediction.step, b.prediction.step - a.prediction.step});
  return table;
}

Table memory_table(const PredictAnswer& a, const PredictAnswer& b) {
  Table table{.name = "memory",
              .title = "Memory of the fullest rank",
              .columns = {{"part", "part"},
                          {"a_bytes", "A", Unit::kBytes},
                          {"b_bytes", "B", Unit::kBytes},
                          {"difference_bytes", "B - A", Unit::kBytes}}};
  const cost::Memory& x = a.prediction.memory;
  const cost::Memory& y = b.prediction.memory;
  for (int i = 0; i < cost::kNumMemoryParts; ++i) {
    const auto part = static_cast<cost::MemoryPart>(i);
    if (x.part(part) > 0 || y.part(part) > 0)
      table.rows.push_back(
          {std::string(to_string(part)), x.part(part), y.part(part), y.part(part) - x.part(part)});
  }
  table.rows.push_back({"all", x.total, y.total, y.total - x.total});
  return table;
}

Table plans_table(const PredictAnswer& a, const PredictAnswer& b) {
  Table table{.name = "plans",
              .columns = {{"plan", ""},
                          {"model", "model"},
                          {"cluster", "cluster"},
                          {"step_s", "step", Unit::kSeconds},
                          {"mfu", "MFU", Unit::kShare},
                          {"fits", "fits"},
                          {"degrees", "plan", Unit::kNone, false, true}}};
  for (const PredictAnswer* own : {&a, &b})
    table.rows.push_back({own == &a ? "A" : "B", own->plan.model.name, own->plan.cluster.name,
                          own->prediction.step, own->prediction.mfu, own->prediction.fits,
                          plan_name(*own)});
  table.notes.push_back(fmt::format(
      "B takes {} A: {}", times_text(b.prediction.step, a.prediction.step), reasons(b, a)));
  return table;
}

}  // namespace

Report compare_report(const PredictAnswer& a, const PredictAnswer& b) {
  Json json;
  json["a"] = Json::parse(prediction_json(a));
  json["b"] = Json::parse(prediction_json(b));
  json["step_ratio"] = b.prediction.step / a.prediction.step;
  json["reasons"] = reasons(b, a);
  return {.tables = {plans_table(a, b), parts_table(a, b), memory_table(a, b)},
          .json = json.dump(2)};
}

std::vector<Table> contest_tables(const PredictAnswer& own, const app::Contest& contest) {
  Table why{.name = "contest", .title = "Against all other plans", .record = true};
  std::vector<Cell> row;
  const auto add = [&](const char* key, const char* title, std::string text) {
    why.columns.push_back({key, title, Unit::kNone, false, true});
    row.emplace_back(std::move(text));
  };
  add("verdict", "verdict",
      contest.is_best
          ? fmt::format("the best of {}", counted(format_count(contest.space), "candidate"))
          : fmt::format("not the best of {}", counted(format_count(contest.space), "candidate")));
  if (contest.same_layout)
    add("same_layout", "same layout, faster",
        fmt::format("{}: {} ({})", plan_name(*contest.same_layout),
                    human(contest.same_layout->prediction.step, Unit::kSeconds),
                    reasons(*contest.same_layout, own)));
  if (contest.rival) {
    const PredictAnswer& rival = *contest.rival;
    add("rival", contest.is_best ? "runner-up" : "best other layout", plan_name(rival));
    add("why", contest.is_best ? "why it is slower" : "what differs",
        fmt::format("{} ({} this plan): {}", human(rival.prediction.step, Unit::kSeconds),
                    times_text(rival.prediction.step, own.prediction.step), reasons(rival, own)));
  }
  why.rows.push_back(std::move(row));

  Table gains{.name = "gains",
              .title = "Gain from more hardware",
              .columns = {{"what", "change"},
                          {"same_plan_s", "this plan", Unit::kSeconds},
                          {"best_plan_s", "best plan", Unit::kSeconds},
                          {"gain", "gain", Unit::kShare},
                          {"degrees", "its layout", Unit::kNone, false, true, 1}}};
  for (const app::Gain& gain : contest.gains)
    gains.rows.push_back({gain.what, gain.same_plan, gain.best_plan,
                          contest.best_step / gain.best_plan - 1, degrees_text(gain.degrees)});
  gains.notes.emplace_back(
      "gain: throughput of the best plan with the change over that of the "
      "best plan now");
  return {why, gains};
}

std::string contest_json(const PredictAnswer& own, const app::Contest& contest) {
  Json json;
  json["is_best"] = contest.is_best;
  json["space"] = contest.space;
  if (contest.rival) {
    json["rival"] = Json::parse(prediction_json(*contest.rival));
    json["reasons"] = reasons(*contest.rival, own);
  }
  if (contest.same_layout) json["same_layout"] = Json::parse(prediction_json(*contest.same_layout));
  json["gains"] = Json::array();
  for (const app::Gain& gain : contest.gains)
    json["gains"].push_back({{"change", gain.what},
                             {"same_plan_s", gain.same_plan},
                             {"best_plan_s", gain.best_plan},
                             {"gain", contest.best_step / gain.best_plan - 1}});
  return json.dump();
}

}  // namespace nereus::api
