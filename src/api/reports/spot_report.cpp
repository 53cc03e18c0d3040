#include "api/reports/spot_report.hpp"

#include <fmt/format.h>

#include "api/form/json.hpp"
#include "base/format.hpp"

namespace nereus::api {

namespace {

using elastic::SpotPlan;

std::string manner(const SpotPlan& own) {
  const plan::Degrees& d = own.degrees;
  std::string out = fmt::format("micro-batch {} x {}", d.micro_batch, d.num_micro_batches());
  if (own.short_replicas > 0)
    out += fmt::format(" (one less on {})", counted(own.short_replicas, "replica"));
  if (d.schedule == plan::Schedule::kVaruna) out += ", varuna";
  if (d.recompute != plan::Recompute::kNone)
    out += fmt::format(", {} recompute", to_string(d.recompute));
  if (d.zero > 0) out += fmt::format(", ZeRO-{}", d.zero);
  return out;
}

std::string layout(const SpotPlan& own) {
  return fmt::format("tp {} pp {} dp {}", own.degrees.tp, own.degrees.pp, own.degrees.dp);
}

Json plan_json(const SpotPlan& own) {
  const plan::Degrees& d = own.degrees;
  Json json;
  json["degrees"] = {{"tp", d.tp},
                     {"pp", d.pp},
                     {"dp", d.dp},
                     {"micro_batch", d.micro_batch},
                     {"micro_batches", d.num_micro_batches()},
                     {"short_replicas", own.short_replicas},
                     {"schedule", to_string(d.schedule)},
                     {"recompute", to_string(d.recompute)},
                     {"zero", d.zero}};
  json["step_s"] = own.simulated;
  json["predicted_s"] = own.prediction.step;
  json["samples"] = own.samples;
  json["samples_per_s"] = own.samples / own.simulated;
  json["idle"] = own.idle;
  json["fits"] = own.prediction.fits;
  json["memory"] = {{"worst_rank_bytes", own.prediction.memory.total},
                    {"capacity_bytes", own.prediction.memory.capacity}};
  return json;
}

}  // namespace

Report spot_report(const app::SpotAnswer& answer) {
  Table table{
      .name = "plans",
      .title = fmt::format("{} on {}, {}", answer.inputs.model.name, answer.inputs.cluster.name,
                           counted(format_count(answer.global_batch), "sample"))};
  table.columns = {{"rank", "#"},
                   {"layout", "layout"},
                   {"step_s", "simulated step", Unit::kSeconds},
                   {"predicted_s", "closed form", Unit::kSeconds, false, false, 2},
                   {"samples_per_s", "samples/s"},
                   {"memory", "memory", Unit::kShare},
                   {"idle", "idle"},
                   {"strategy", "strategy", Unit::kNone, false, true}};
  const auto add = [&](Cell name, const SpotPlan& own) {
    table.rows.push_back({std::move(name), layout(own), own.simulated, own.prediction.step,
                          format_significant(own.samples / own.simulated),
                          own.prediction.memory.total / own.prediction.memory.capacity, own.idle,
                          manner(own)});
  };
  Json json;
  json["plans"] = Json::array();
  for (std::size_t i = 0; i < answer.result.plans.size(); ++i) {
    add(std::to_string(i + 1), answer.result.plans[i]);
    json["plans"].push_back(plan_json(answer.result.plans[i]));
  }
  json["varuna_rule"] = answer.rule ? plan_json(*answer.rule) : Json(nullptr);
  if (answer.rule) add("Varuna's rule", *answer.rule);
  if (answer.result.plans.empty()) table.notes.emplace_back("no plan fits");
  if (!answer.rule) table.notes.emplace_back("Varuna's rule finds no plan that fits");
  table.notes.push_back(fmt::format("{} predicted, {} pruned by a bound",
                                    format_count(answer.result.evaluated),
                                    format_count(answer.result.pruned)));
  json["evaluated"] = answer.result.evaluated;
  json["pruned"] = answer.result.pruned;
  json["seconds"] = answer.seconds;
  return {{std::move(table)}, json.dump()};
}

}  // namespace nereus::api
