#include "api/reports/plan_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/form/json.hpp"
#include "api/reports/degrees_json.hpp"
#include "api/reports/placement_text.hpp"
#include "api/reports/plan_text.hpp"
#include "api/reports/prediction_report.hpp"
#include "api/reports/sources_report.hpp"
#include "base/format.hpp"
#include "cost/measured.hpp"
#include "plan/plan_json.hpp"
#include "plan/rules.hpp"

namespace nereus::api {

namespace {

// The most headroom, in whole percent, that this plan leaves.
double headroom_of(const app::PredictAnswer& answer) {
  const cost::Memory& memory = answer.prediction.memory;
  return std::max(0.0, std::floor(100 * (1 - memory.total / memory.capacity)) / 100);
}

double tokens_per_s(const app::PredictAnswer& answer) {
  return answer.rate_per_device * answer.plan.cluster.num_devices();
}

Cell usd_per_billion(const app::PredictAnswer& answer) {
  if (!answer.usd_per_step) return {};
  return *answer.usd_per_step / (tokens_per_s(answer) * answer.prediction.step) * 1e9;
}

Table plans_table(const app::PlanAnswer& answer, const app::PlanRequest& request) {
  const bool tokens = answer.plans.front().counts_tokens;
  const bool sizes = !request.nodes.empty();
  const auto& objectives = request.options.objectives;
  const bool energy = std::find(objectives.begin(), objectives.end(), search::Objective::kEnergy) !=
                      objectives.end();
  Table table{.name = "plans"};
  table.columns.push_back({"rank", "#"});
  if (sizes) table.columns.push_back({"nodes", "nodes"});
  table.columns.push_back({"layout", "layout", Unit::kNone, false, true});
  table.columns.push_back({"step_s", "step", Unit::kSeconds});
  table.columns.push_back(
      {"rate", tokens ? "tokens/s" : "samples/s", Unit::kCount, false, false, 2});
  table.columns.push_back({"mfu", "MFU", Unit::kShare, false, false, 1});
  table.columns.push_back({"memory_share", "memory", Unit::kShare});
  const bool priced =
      std::any_of(answer.plans.begin(), answer.plans.end(),
                  [](const app::PredictAnswer& own) { return own.usd_per_step.has_value(); });
  if (priced)
    table.columns.push_back({"usd_per_billion", tokens ? "$/B tokens" : "$/B samples", Unit::kUsd});
  if (energy) table.columns.push_back({"kwh", "kWh per step"});
  table.columns.push_back({"manner", "strategy", Unit::kNone, false, true});
  for (std::size_t i = 0; i < answer.plans.size(); ++i) {
    const app::PredictAnswer& own = answer.plans[i];
    const cost::Prediction& p = own.prediction;
    std::vector<Cell> row = {static_cast<int>(i + 1)};
    if (sizes) row.emplace_back(own.plan.cluster.num_nodes());
    row.insert(row.end(),
               {answer.mixed ? answer.mixed->families[i] : layout_text(*own.plan.degrees), p.step,
                std::round(tokens_per_s(own)), p.mfu, p.memory.total / p.memory.capacity});
    if (priced) row.push_back(usd_per_billion(own));
    if (energy)
      row.emplace_back(fmt::format(
          "{:.3g}", answer.search.plans[static_cast<std::size_t>(i)]
                            .values[static_cast<std::size_t>(search::Objective::kEnergy)] /
                        3.6e6));
    row.emplace_back(answer.mixed ? manner_text(own.plan.placement)
                                  : manner_text(*own.plan.degrees));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string searched_text(const app::PlanAnswer& answer) {
  const search::SearchResult& found = answer.search;
  std::string text = fmt::format(
      "{} in {:.2g} s: {} predicted, {}", counted(format_count(found.space), "candidate"),
      answer.seconds, format_count(found.evaluated),
      counted(format_count(found.pruned), "pruned because it cannot be better",
              "pruned because they cannot be better"));
  if (answer.mixed)
    text = fmt::format(
        "{} in {:.2f} s: {} predicted (some candidates need several), {}",
        counted(format_count(found.space), "candidate"), answer.seconds,
        counted(format_count(found.evaluated), "placement"),
        counted(format_count(found.pruned), "candidate pruned because it cannot be better",
                "candidates pruned because they cannot be better"));
  if (answer.mixed && found.space == 0 && answer.plans.empty())
    text = fmt::format("{:.2f} s; no candidate was predicted", answer.seconds);
  if (answer.mixed && answer.mixed->left_out > 0)
    text += fmt::format(", {} not searched", format_count(answer.mixed->left_out));
  if (answer.mixed && !answer.mixed->every)
    text +=
        "; the search is not exhaustive, because with so many machines it skips some counts "
        "and orders of them";
  if (!answer.mixed && found.too_much_memory + found.too_much_beyond > 0)
    text += fmt::format(
        "; {} too much memory",
        counted(format_count(found.too_much_memory + found.too_much_beyond),
                "of the predicted candidates needs", "of the predicted candidates need"));
  return text;
}

std::string subject_text(const app::PlanAnswer& answer, const app::PlanRequest& request) {
  const app::Inputs& inputs = answer.inputs;
  const model::Model& model = inputs.model;
  std::string batch =
      model.tokens_per_sample > 0
          ? fmt::format(
                "{} of {}", counted(format_count(answer.choices.global_batch), "sample"),
                counted(format_count(static_cast<std::int64_t>(model.tokens_per_sample)), "token"))
          : counted(format_count(answer.choices.global_batch), "sample");
  const std::string machines =
      request.nodes.empty()
          ? fmt::format("{} ({})", inputs.cluster.name,
                        counted(format_count(inputs.cluster.num_devices()), "device"))
          : fmt::format("{} to {} of {}", request.nodes.front(),
                        counted(request.nodes.back(), "node"),
                        inputs.cluster.groups.front().node.name);
  return fmt::format("{} ({} parameters) on {}, {}, {}, {}", model.name,
                     human(model.parameters(), Unit::kParameters), machines, batch,
                     to_string(answer.choices.precision), inputs.basis.stack.name);
}

Json search_json(const app::PlanAnswer& answer) {
  const search::SearchResult& found = answer.search;
  Json json;
  json["space"] = found.space;
  json["evaluated"] = found.evaluated;
  json["pruned"] = found.pruned;
  Json rejected = Json::object();
  if (found.too_much_memory > 0) rejected["device_memory"] = found.too_much_memory;
  if (found.too_much_beyond > 0) rejected["offload_memory"] = found.too_much_beyond;
  if (found.not_accepted > 0) rejected["engine"] = found.not_accepted;
  json["rejected"] = rejected;
  Json unbuildable = Json::object();
  for (int i = 0; i < plan::kNumRules; ++i)
    if (const std::int64_t count = found.unbuildable[i]; count > 0)
      unbuildable[std::string(plan::code_of(static_cast<plan::Rule>(i)))] = count;
  json["unbuildable_layouts"] = unbuildable;
  json["complete"] = found.complete;
  json["seconds"] = answer.seconds;
  return json;
}

std::string plan_json(const app::PlanAnswer& answer, const app::PlanRequest& request) {
  Json json;
  json["model"] = answer.inputs.model.name;
  json["cluster"] = answer.inputs.cluster.name;
  json["stack"] = answer.inputs.basis.stack.name;
  json["global_batch"] = answer.choices.global_batch;
  json["derived"] = answer.derived;
  json["objectives"] = Json::array();
  for (const search::Objective objective : request.options.objectives)
    json["objectives"].push_back(to_string(objective));
  json["plans"] = Json::array();
  for (std::size_t i = 0; i < answer.plans.size(); ++i) {
    Json plan = Json::parse(prediction_json(answer.plans[i]));
    if (answer.mixed) {
      plan["family"] = answer.mixed->families[i];
      plan["placement"] =
          Json::parse(plan::plan_to_json(app::to_plan(answer.plans[i].plan)))["placement"];
      json["plans"].push_back(std::move(plan));
      continue;
    }
    if (const double joules = answer.search.plans[static_cast<std::size_t>(i)]
                                  .values[static_cast<std::size_t>(search::Objective::kEnergy)];
        joules > 0)
      plan["joules_per_step"] = joules;
    json["plans"].push_back(std::move(plan));
  }
  json["headroom"] = answer.headroom;
  if (answer.left_out)
    json["left_out_plan"] = {{"step_s", answer.left_out->prediction.step},
                             {"fits_probability", json_or_null(answer.left_out->fits_probability)},
                             {"headroom", headroom_of(*answer.left_out)},
                             {"degrees", degrees_json(*answer.left_out->plan.degrees)}};
  json.update(search_json(answer));
  if (answer.mixed) {
    json["bound_s"] = answer.mixed->bound;
    json["left_out"] = answer.mixed->left_out;
    json["exhaustive"] = answer.mixed->every && answer.mixed->left_out == 0;
    json["baselines"] = Json::array();
    for (const auto& own : answer.mixed->baselines)
      json["baselines"].push_back({{"name", own.name}, {"step_s", own.step}});
  }
  if (answer.plans.empty()) {
    json["binding"] = answer.binding;
    json["lifts"] = Json::array();
    for (const app::Lift& lift : answer.lifts) {
      Json own = {{"change", lift.change}, {"step_s", lift.step}};
      if (!lift.degrees) own["family"] = lift.family;
      json["lifts"].push_back(std::move(own));
    }
  }
  return json.dump(2);
}

Table nothing_table(const app::PlanAnswer& answer, const app::PlanRequest& request) {
  Table table{.name = "result", .record = true};
  table.columns = {{"result", "result", Unit::kNone, false, true},
                   {"binding", "binding constraint", Unit::kNone, false, true}};
  table.rows.push_back(
      {answer.search.complete ? "no plan fits" : "stopped before any plan was found",
       answer.binding.empty() ? Cell{} : Cell{answer.binding}});
  table.notes = {subject_text(answer, request), searched_text(answer)};
  return table;
}

Table lifts_table(const app::PlanAnswer& answer) {
  Table table{.name = "lifts",
              .title = "What would make it fit",
              .columns = {{"change", "change", Unit::kNone, false, true},
                          {"step_s", "step", Unit::kSeconds},
                          {"layout", "with", Unit::kNone, false, true}}};
  for (const app::Lift& lift : answer.lifts)
    table.rows.push_back({lift.change, lift.step,
                          lift.degrees
                              ? layout_text(*lift.degrees)
                              : fmt::format("{}: {}", lift.family, manner_text(lift.placement))});
  if (answer.mixed)
    table.notes.emplace_back(
        "each change was tried by a short search; a full search may find a faster plan");
  return table;
}

constexpr const char* kGoOnMixed =
    "next: -o FILE saves the best plan; nereus predict, explain and simulate read that file, and "
    "nereus train runs it; launch files of other engines cannot express uneven work";

// How likely the best plan fits, and what was left out because it is less likely to.
std::string fits_note(const app::PlanAnswer& answer, const app::PredictAnswer& best) {
  std::string text = best.fits_probability ? fmt::format("the best plan fits with {}",
                                                         probability_text(*best.fits_probability))
                                           : "how likely the best plan fits is not known";
  if (best.memory_low)
    text += fmt::format(" (memory: {} to {} of {}, 80 %)", format_bytes(Bytes{*best.memory_low}),
                        format_bytes(Bytes{*best.memory_high}),
                        format_bytes(Bytes{best.prediction.memory.capacity}));
  if (answer.tight) text += fmt::format("; none fits with {:.0f} %", 100 * app::kFitsByDefault);
  if (!answer.left_out) return text;
  const app::PredictAnswer& faster = *answer.left_out;
  return text + fmt::format("; {} ({}) fits with {}: --headroom {} shows it",
                            format_seconds(Seconds{faster.prediction.step}),
                            layout_text(*faster.plan.degrees),
                            probability_text(faster.fits_probability.value_or(0)),
                            headroom_of(faster));
}

void add_notes(Table& table, const app::PlanAnswer& answer, const app::PlanRequest& request) {
  table.notes.push_back(searched_text(answer));
  if (answer.mixed)
    table.notes.push_back(fmt::format(
        "no plan on these devices can take less than {}; the best plan takes {:.0f} % longer",
        human(answer.mixed->bound, Unit::kSeconds),
        100 * (answer.plans.front().prediction.step / answer.mixed->bound - 1)));
  if (answer.mixed) {
    const app::ResolvedPlan& best = answer.plans.front().plan;
    if (const int idle = num_idle(best.placement, best.cluster); idle > 0)
      table.notes.push_back(fmt::format(
          "the best plan leaves {} of {} devices idle and would be as fast without them; the cost "
          "counts all devices, the MFU only those in use",
          idle, best.cluster.num_devices()));
  }
  if (answer.mixed) table.notes.emplace_back(kGoOnMixed);
  if (request.options.objectives.size() > 1)
    table.notes.emplace_back(
        "these plans form the Pareto front: no plan is better in all objectives at once");
  for (const int nodes : request.nodes)
    if (request.options.objectives.size() > 1 &&
        std::none_of(answer.plans.begin(), answer.plans.end(), [&](const app::PredictAnswer& own) {
          return own.plan.cluster.num_nodes() == nodes;
        }))
      table.notes.push_back(
          fmt::format("{}: no plan fits, or another number of nodes is better in all objectives",
                      counted(nodes, "node")));
  if (!answer.search.complete)
    table.notes.emplace_back(
        "stopped early: these are the best plans "
        "so far");
  const app::PredictAnswer& best = answer.plans.front();
  if (best.plan.basis.layers) {
    table.notes.push_back("layer times of the best plan: " + sources_text(best));
    for (const std::string& note : best.plan.basis.layers->notes)
      if (note.starts_with("not used")) table.notes.push_back(note);
  }
  if (!best.usd_per_step)
    table.notes.push_back(
        fmt::format("no price is known for {}, so no cost is shown", best.plan.cluster.name));
  table.notes.push_back(fmt::format("80 % of runs of the best plan: {}", step_interval_text(best)));
  table.notes.push_back(fits_note(answer, best));
}

}  // namespace

Report plan_report(const app::PlanAnswer& answer, const app::PlanRequest& request, bool csv) {
  Report report;
  report.json = plan_json(answer, request);
  if (answer.plans.empty()) {
    report.tables.push_back(nothing_table(answer, request));
    if (!answer.lifts.empty()) report.tables.push_back(lifts_table(answer));
    return report;
  }
  if (csv) {
    Table table;
    for (const app::PredictAnswer& own : answer.plans) {
      Table row = prediction_row(own);
      if (table.columns.empty())
        table = std::move(row);
      else
        table.rows.push_back(std::move(row.rows.front()));
    }
    report.tables.push_back(std::move(table));
    return report;
  }
  Table table = plans_table(answer, request);
  table.title = subject_text(answer, request);
  add_notes(table, answer, request);
  report.tables.push_back(std::move(table));
  if (answer.mixed) {
    const app::ResolvedPlan& best = answer.plans.front().plan;
    report.tables.push_back(placement_table(best.placement, best.cluster));
  }
  if (request.options.objectives.size() == 1)
    report.tables.push_back(prediction_breakdown(answer.plans.front()));
  return report;
}

}  // namespace nereus::api
