#include "api/reports/train_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/form/json.hpp"
#include "api/reports/background_report.hpp"
#include "api/reports/prediction_report.hpp"
#include "base/format.hpp"

namespace nereus::api {

namespace {

struct WaitName {
  const char* key;
  const char* words;
  double job::Waits::*field;
};
constexpr WaitName kWaits[] = {{"data", "samples", &job::Waits::data},
                               {"tensor", "tensor", &job::Waits::tensor},
                               {"pipeline", "pipeline", &job::Waits::pipeline},
                               {"gather", "weights", &job::Waits::gather},
                               {"reduce", "gradients", &job::Waits::reduce},
                               {"checkpoint", "checkpoint", &job::Waits::checkpoint}};

double sum_of(const job::Waits& waits) {
  double sum = 0;
  for (const WaitName& wait : kWaits) sum += waits.*wait.field;
  return sum;
}

// "12 % (pipeline 8 %, gradients 4 %)": causes of half a per cent and more, the longest first.
std::string waits_text(const job::Waits& waits, double seconds) {
  std::vector<std::pair<double, const char*>> causes;
  for (const WaitName& wait : kWaits)
    if (waits.*wait.field >= 0.005 * seconds && seconds > 0)
      causes.emplace_back(waits.*wait.field / seconds, wait.words);
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [share, words] : causes)
    text += fmt::format("{}{} {:.0f} %", text.empty() ? " (" : ", ", words, share * 100);
  return fmt::format("{:.0f} %{}{}", seconds > 0 ? sum_of(waits) / seconds * 100 : 0, text,
                     text.empty() ? "" : ")");
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json event_json(const app::TrainEvent& event) {
  Json json{{"kind", event.kind}};
  json["step"] = event.step >= 0 ? Json(event.step) : Json();
  json["rank"] = event.rank >= 0 ? Json(event.rank) : Json();
  json["text"] = event.text;
  if (event.morph) {
    const app::Morph& m = *event.morph;
    json["generation"] = m.generation;
    json["ranks"] = m.num_ranks;
    json["own_bytes"] = m.own_bytes;
    json["peer_bytes"] = m.peer_bytes;
    json["checkpoint_bytes"] = m.saved_bytes;
    json["seconds"] = m.seconds;
    json["lost_steps"] = m.lost_steps;
  }
  return json;
}

const char* rate_key(const app::TrainAnswer& answer) {
  return answer.counts_tokens ? "tokens_per_s" : "samples_per_s";
}

double most_memory(const app::TrainAnswer& answer) {
  double most = 0;
  for (const app::TrainStep& step : answer.steps) most = std::max(most, step.memory_bytes);
  return most;
}

std::optional<double> mfu_of(const app::TrainAnswer& answer) {
  if (answer.steps.empty() || !answer.steps.back().mfu || answer.step_s <= 0) return std::nullopt;
  const app::TrainStep& last = answer.steps.back();
  return *last.mfu * last.seconds / answer.step_s;
}

std::string json_of(const app::TrainAnswer& answer, bool compare) {
  Json json;
  json["steps"] = answer.steps.size();
  json["first_step"] = answer.steps.empty() ? Json() : Json(answer.steps.front().step);
  json["final_loss"] = answer.steps.empty() ? Json() : finite(answer.steps.back().loss);
  json["losses"] = Json::array();
  for (const app::TrainStep& step : answer.steps) json["losses"].push_back(finite(step.loss));
  json["step_s"] = answer.steps.empty() ? Json() : Json(answer.step_s);
  json[rate_key(answer)] = answer.steps.empty() ? Json() : finite(answer.rate);
  if (const auto mfu = mfu_of(answer)) json["model_flops_utilization"] = *mfu;
  json["memory_bytes"] = most_memory(answer);
  for (const WaitName& wait : kWaits) json["waits"][wait.key] = answer.waits.*wait.field;
  json["model"] = answer.plan.model.name;
  json["ranks"] = answer.num_ranks;
  json["library"] = answer.library;
  if (answer.predicted) {
    json["predicted"]["step_s"] = answer.predicted->step;
    json["predicted"]["nominal_machine"] = answer.nominal;
  }
  if (compare) {
    json["compare"] = Json::array();
    for (const app::ComparedPart& part : app::compare(answer))
      json["compare"].push_back(
          {{"part", part.name}, {"predicted_s", part.predicted}, {"measured_s", part.measured}});
  }
  if (answer.background) json["background"] = Json::parse(background_json(*answer.background));
  json["events"] = Json::array();
  for (const app::TrainEvent& event : answer.events) json["events"].push_back(event_json(event));
  return json.dump(2);
}

// For an elastic job: what happened to its machines. Empty for other jobs.
std::string machines_text(const app::TrainAnswer& answer) {
  int morphs = 0, lost = 0, notices = 0, slow = 0;
  std::int64_t again = 0;
  bool elastic = false;
  for (const app::TrainEvent& event : answer.events) {
    elastic |= event.morph.has_value();
    morphs += event.kind == "morph";
    lost += event.kind == "lost";
    notices += event.kind == "notice";
    slow += event.kind == "slow";
    if (event.morph) again += event.morph->lost_steps;
  }
  if (!elastic) return "";
  return fmt::format("{}: {}, {}, {}; {}", counted(morphs, "morph"),
                     counted(lost, "loss", "losses"), counted(notices, "notice"),
                     counted(slow, "slow machine"),
                     counted(again, "step done again", "steps done again"));
}

Table summary_table(const app::TrainAnswer& answer) {
  Table table{.name = "", .title = {}, .columns = {}, .rows = {{}}, .record = true};
  const auto add = [&](Column column, Cell cell) {
    table.columns.push_back(std::move(column));
    table.rows[0].push_back(std::move(cell));
  };
  add({"model", "model"}, answer.plan.model.name);
  std::string plan = counted(answer.num_ranks, "rank");
  if (answer.plan.degrees) plan += ": " + degrees_text(*answer.plan.degrees);
  add({"plan", "plan"}, plan);
  add({"library", "on"}, answer.library);
  add({"steps", "steps", Unit::kCount}, answer.steps.size());
  if (!answer.steps.empty()) {
    add({"first_loss", "first loss"}, answer.steps.front().loss);
    add({"final_loss", "last loss"}, answer.steps.back().loss);
    add({"step_s", "step (median)", Unit::kSeconds}, answer.step_s);
    add({rate_key(answer), answer.counts_tokens ? "tokens/s" : "samples/s"}, answer.rate);
    if (const auto mfu = mfu_of(answer))
      add({"model_flops_utilization", "MFU", Unit::kShare}, *mfu);
    add({"memory_bytes", "memory (fullest rank)", Unit::kBytes}, most_memory(answer));
    add({"waits", "waiting"}, waits_text(answer.waits, answer.step_s));
  }
  if (const std::string machines = machines_text(answer); !machines.empty())
    add({"machines", "machines"}, machines);
  for (const app::TrainEvent& event : answer.events)
    table.notes.push_back(
        event.step >= 0 ? fmt::format("after step {}: {}: {}", event.step, event.kind, event.text)
                        : fmt::format("{}: {}", event.kind, event.text));
  return table;
}

Table compare_table(const app::TrainAnswer& answer) {
  Table table{.name = "compare",
              .title = "Predicted against measured",
              .columns = {{"part", "part"},
                          {"predicted_s", "predicted", Unit::kSeconds},
                          {"measured_s", "measured", Unit::kSeconds},
                          {"error", "predicted / measured - 1", Unit::kShare}},
              .rows = {}};
  for (const app::ComparedPart& part : app::compare(answer)) {
    std::vector<Cell> row{part.name, part.predicted, part.measured};
    row.push_back(part.measured > 0 ? Cell(part.predicted / part.measured - 1) : Cell());
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty())
    table.notes.emplace_back("nothing to compare, because there is no step or no closed form");
  if (answer.nominal)
    table.notes.emplace_back(
        "this machine was not measured, so the prediction uses nominal rates; --cluster and "
        "--stack give better ones");
  table.notes.emplace_back(
      "measured: waiting by cause, as the mean over ranks; the rest is "
      "computing");
  return table;
}

}  // namespace

std::string step_text(const app::TrainStep& step, bool counts_tokens) {
  const double rate = step.seconds > 0 ? static_cast<double>(step.tokens) / step.seconds : 0;
  std::string text = fmt::format("step {}  loss {:.4f}  {} {}/s  {}", step.step, step.loss,
                                 human(rate, Unit::kCount), counts_tokens ? "tokens" : "samples",
                                 human(step.seconds, Unit::kSeconds));
  if (step.mfu) text += "  MFU " + human(*step.mfu, Unit::kShare);
  if (step.memory_bytes > 0) text += "  " + human(step.memory_bytes, Unit::kBytes);
  return text + "  waits " + waits_text(step.waits, step.seconds);
}

void StepLines::take(const app::TrainStep& step, bool counts_tokens) {
  held_ = step_text(step, counts_tokens);
  const Clock::time_point now = now_();
  if (any_ && now - last_ < std::chrono::seconds(1)) return;
  any_ = true;
  last_ = now;
  finish();
}

void StepLines::finish() {
  if (!held_.empty()) write_(held_ + "\n");
  held_.clear();
}

Report train_report(const app::TrainAnswer& answer, bool compare) {
  Report report{.tables = {summary_table(answer)}, .json = json_of(answer, compare)};
  if (compare) report.tables.push_back(compare_table(answer));
  if (answer.background)
    for (Table& table : background_tables(*answer.background))
      report.tables.push_back(std::move(table));
  return report;
}

}  // namespace nereus::api
