#include "api/reports/prediction_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/form/json.hpp"
#include "api/reports/degrees_json.hpp"
#include "api/reports/sources_report.hpp"
#include "base/format.hpp"
#include "cost/measured_network.hpp"
#include "model/causal_flops.hpp"

namespace nereus::api {

namespace {

std::string_view fits_text(const cost::Prediction& p) {
  if (p.fits) return "fits";
  // In a mixed cluster, the rank that does not fit may be another one than the fullest.
  const bool only_beyond =
      p.memory.total <= p.memory.capacity && p.memory.beyond > p.memory.beyond_capacity;
  return only_beyond ? "fits, but what is offloaded does NOT" : "does NOT fit";
}

std::string cost_text(const app::PredictAnswer& answer) {
  if (!answer.usd_per_step) return "unknown, because some machines have no known price";
  std::string text = fmt::format("{} per step", format_usd(Usd{*answer.usd_per_step}));
  if (answer.counts_tokens) {
    const double tokens =
        answer.rate_per_device * answer.plan.cluster.num_devices() * answer.prediction.step;
    text += fmt::format(", {} per billion tokens",
                        format_usd(Usd{*answer.usd_per_step / tokens * 1e9}));
  }
  text += ", on demand";
  if (!answer.price_date.empty()) text += fmt::format(" (prices of {})", answer.price_date);
  return text;
}

std::string memory_text(const app::PredictAnswer& answer) {
  const cost::Prediction& p = answer.prediction;
  return fmt::format("{} of {} on the fullest rank: {}{}", format_bytes(Bytes{p.memory.total}),
                     format_bytes(Bytes{p.memory.capacity}), fits_text(p),
                     memory_interval_text(answer));
}

// The derived fields whose values users may want to choose; JSON lists all of them.
std::string derived_text(const app::ResolvedPlan& plan) {
  if (!plan.degrees) return {};
  const plan::Degrees& d = *plan.degrees;
  std::vector<std::string> list;
  for (const std::string& name : plan.derived) {
    if (name == "tp" && d.tp > 1) list.push_back(fmt::format("tp {}", d.tp));
    if (name == "pp" && d.pp > 1) list.push_back(fmt::format("pp {}", d.pp));
    if (name == "dp") list.push_back(fmt::format("dp {}", d.dp));
    if (name == "micro_batch") list.push_back(fmt::format("micro-batch {}", d.micro_batch));
    if (name == "global_batch") list.push_back(fmt::format("global batch {}", d.global_batch));
    if (name == "precision") list.push_back(std::string(to_string(d.precision)));
    if (name == "schedule" && d.pp > 1) list.push_back(std::string(to_string(d.schedule)));
    if (name == "sequence_parallel" && d.tp > 1)
      list.push_back(d.sequence_parallel ? "sequence parallel" : "no sequence parallelism");
  }
  return fmt::format("{}", fmt::join(list, ", "));
}

}  // namespace

std::string step_interval_text(const app::PredictAnswer& answer) {
  if (answer.plan.basis.layers)
    return "not known: no measured run tells how well measured layers predict a step";
  if (!answer.step_error) return "not known: no measured run has this software or this device";
  const cost::ErrorBand& band = *answer.step_error;
  std::string text = fmt::format("{} to {}, from {}", format_seconds(Seconds{*answer.step_low}),
                                 format_seconds(Seconds{*answer.step_high}), basis_text(band));
  if (!band.unseen.empty())
    text += fmt::format("; wider, because no run has: {}", fmt::join(band.unseen, ", "));
  return text;
}

std::string memory_interval_text(const app::PredictAnswer& answer) {
  std::string text;
  if (answer.memory_low)
    text += fmt::format("; 80 %: {} to {}", format_bytes(Bytes{*answer.memory_low}),
                        format_bytes(Bytes{*answer.memory_high}));
  if (answer.fits_probability)
    text += fmt::format("; fits with {}", probability_text(*answer.fits_probability));
  return text;
}

std::string basis_text(const cost::ErrorBand& band) {
  return fmt::format("{} of {} (median error {:.0f} %)",
                     counted(format_count(band.rows), "left-out run"), band.basis,
                     100 * band.median_abs);
}

std::string probability_text(double probability) {
  if (probability > 0.99) return "over 99 %";
  if (probability < 0.01) return "under 1 %";
  return fmt::format("{:.0f} %", 100 * probability);
}

Json band_json(const std::optional<cost::ErrorBand>& band) {
  if (!band) return nullptr;
  Json json = {{"mean", band->mean_abs},
               {"median", band->median_abs},
               {"rows", band->rows},
               {"basis", band->basis}};
  if (!band->unseen.empty()) json["unseen"] = band->unseen;
  return json;
}

Json json_or_null(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

std::string_view tier_text(plan::Tier tier) {
  switch (tier) {
    case plan::Tier::kDevice:
      return "on the device";
    case plan::Tier::kExpanded:
      return "in expanded memory";
    case plan::Tier::kHost:
      return "in host memory";
    case plan::Tier::kNvme:
      return "on NVMe";
  }
  return "";
}

std::string degrees_text(const plan::Degrees& d) {
  std::string text = fmt::format("tp {} x pp {} x dp {}", d.tp, d.pp, d.dp);
  if (d.cp > 1) text += fmt::format(" x cp {}", d.cp);
  if (d.cp > 1 && d.context == plan::ContextKind::kAllToAll) text += " (all-to-all)";
  if (d.ep > 1) text += fmt::format(", ep {}", d.ep);
  if (d.ep > 1 && d.table_split != plan::TableSplit::kTable)
    text += fmt::format(" (tables by {})", to_string(d.table_split));
  if (d.interleave > 1) text += fmt::format(", {} virtual stages", d.interleave);
  text += fmt::format(", micro-batch {} x {}, {}", d.micro_batch, d.num_micro_batches(),
                      to_string(d.precision));
  if (d.zero > 0) text += fmt::format(", ZeRO-{}", d.zero);
  if (d.sequence_parallel) text += ", sequence parallel";
  if (d.recompute_blocks > 0)
    text += fmt::format(", full recompute of {} per stage", counted(d.recompute_blocks, "block"));
  else if (d.recompute != plan::Recompute::kNone)
    text += fmt::format(", {} recompute", to_string(d.recompute));
  for (const auto& [share, what] :
       {std::pair{d.offload.weights, "weights"}, std::pair{d.offload.optimizer, "optimizer"},
        std::pair{d.offload.activations, "activations"}})
    if (share > 0)
      text += fmt::format(", {:.3g} % of {} {}", 100 * share, what, tier_text(d.offload.tier));
  if (d.pp > 1) text += fmt::format(", {}", to_string(d.schedule));
  for (const plan::StateTypePart& part : plan::kStateTypeParts)
    if (d.state_types.*part.type != plan::NumberType::kStack)
      text += fmt::format(", {} {}", part.name, to_string(d.state_types.*part.type));
  return text;
}

namespace {

// What profiles say about links; empty if none does.
std::string links_text(const app::ResolvedPlan& plan) {
  std::string text;
  if (!plan.basis.networks) return text;
  for (const cost::MeasuredNetwork& own : plan.basis.networks->list)
    for (const auto& [where, fit] :
         {std::pair{"inside a host", &own.inside}, std::pair{"between hosts", &own.between}})
      if (fit->rate > 0)
        text += fmt::format("{}{} and {} per step {}", text.empty() ? "measured: " : "; ",
                            format_rate(BytesPerSecond{fit->rate}),
                            format_seconds(Seconds{fit->latency}), where);
  for (const std::string& note : plan.basis.networks->notes)
    text += (text.empty() ? "" : "; ") + note;
  return text;
}

}  // namespace

double causal_mfu(const app::PredictAnswer& answer) {
  const model::Model& model = answer.plan.model;
  const double whole = model.training_flops();
  return whole > 0 ? answer.prediction.mfu * (model::causal_training_flops(model) / whole) : 0;
}

Table prediction_summary(const app::PredictAnswer& answer) {
  const cost::Prediction& p = answer.prediction;
  const app::ResolvedPlan& plan = answer.plan;
  Table table{.name = "summary", .record = true};
  std::vector<Cell> row;
  const auto add = [&](std::string key, std::string title, Cell cell, Unit unit = Unit::kNone) {
    table.columns.push_back({std::move(key), std::move(title), unit, false, true});
    row.push_back(std::move(cell));
  };
  add("model", "model",
      fmt::format("{} ({} parameters)", plan.model.name,
                  human(plan.model.parameters(), Unit::kParameters)));
  add("cluster", "cluster",
      fmt::format("{} ({})", plan.cluster.name, counted(plan.cluster.num_devices(), "device")));
  if (plan.degrees) add("plan", "plan", degrees_text(*plan.degrees));
  if (plan.degrees)
    add("global_batch", "batch",
        answer.counts_tokens
            ? fmt::format(
                  "{} of {}", counted(format_count(plan.degrees->global_batch), "sample"),
                  counted(format_count(static_cast<std::int64_t>(plan.model.tokens_per_sample)),
                          "token"))
            : counted(format_count(plan.degrees->global_batch), "sample"));
  add("step_s", "step", p.step, Unit::kSeconds);
  add("rate", answer.counts_tokens ? "tokens/s per device" : "samples/s per device",
      format_significant(answer.rate_per_device, 4));
  add("model_flops_utilization", "MFU", p.mfu, Unit::kShare);
  if (const double causal = causal_mfu(answer); causal < p.mfu)
    add("model_flops_utilization_causal", "MFU, causal", causal, Unit::kShare);
  add("memory", "memory", memory_text(answer));
  // Only reports host memory if it is insufficient, because it is usually ample.
  const bool lacks = p.memory.beyond > p.memory.beyond_capacity;
  if (lacks || (p.memory.beyond > 0 && p.memory.beyond_tier != plan::Tier::kHost))
    add("offloaded", "offloaded",
        fmt::format("{} of {} per device {}: {}", format_bytes(Bytes{p.memory.beyond}),
                    format_bytes(Bytes{p.memory.beyond_capacity}), tier_text(p.memory.beyond_tier),
                    lacks ? "does NOT fit" : "fits"));
  add("usd_per_step", "cost", cost_text(answer));
  if (plan.basis.layers) add("profile", "layer times", sources_text(answer));
  if (const std::string links = links_text(plan); !links.empty()) add("links", "links", links);
  add("interval", "80 % of runs", step_interval_text(answer));
  table.rows.push_back(std::move(row));
  return table;
}

Table prediction_breakdown(const app::PredictAnswer& answer) {
  Table table{.name = "time",
              .title = "Where the time goes",
              .columns = {{"part", "part"},
                          {"seconds", "time", Unit::kSeconds},
                          {"share", "share", Unit::kShare, true}}};
  const cost::Prediction& p = answer.prediction;
  for (int i = 0; i < cost::kNumParts; ++i) {
    const auto part = static_cast<cost::Part>(i);
    if (p.part(part) > 0)
      table.rows.push_back({std::string(to_string(part)), p.part(part), p.part(part) / p.step});
  }
  return table;
}

Table prediction_memory(const app::PredictAnswer& answer) {
  Table table{.name = "memory",
              .title = "Memory of the fullest rank",
              .columns = {{"part", "part"},
                          {"bytes", "memory", Unit::kBytes},
                          {"share", "share of device", Unit::kShare, true}}};
  const cost::Memory& memory = answer.prediction.memory;
  for (int i = 0; i < cost::kNumMemoryParts; ++i) {
    const double bytes = memory.parts[i];
    if (bytes > 0)
      table.rows.push_back({std::string(to_string(static_cast<cost::MemoryPart>(i))), bytes,
                            bytes / memory.capacity});
  }
  return table;
}

std::string prediction_json(const app::PredictAnswer& answer) {
  const cost::Prediction& p = answer.prediction;
  const app::ResolvedPlan& plan = answer.plan;
  Json json;
  json["model"] = plan.model.name;
  json["model_parameters"] = plan.model.parameters();
  json["cluster"] = plan.cluster.name;
  json["devices"] = plan.cluster.num_devices();
  json["stack"] = plan.basis.stack.name;
  if (plan.degrees) json["degrees"] = degrees_json(*plan.degrees);
  if (plan.degrees && plan.model.table_layer() >= 0)
    json["degrees"]["table_split"] = to_string(plan.degrees->table_split);
  json["derived"] = plan.derived;
  json["step_s"] = p.step;
  json["step_low_s"] = json_or_null(answer.step_low);
  json["step_high_s"] = json_or_null(answer.step_high);
  json[answer.counts_tokens ? "tokens_per_s_per_device" : "samples_per_s_per_device"] =
      answer.rate_per_device;
  json["model_flops_utilization"] = p.mfu;
  json["model_flops_utilization_causal"] = causal_mfu(answer);
  json["fits"] = p.fits;
  json["fits_probability"] = json_or_null(answer.fits_probability);
  Json parts;
  for (int i = 0; i < cost::kNumMemoryParts; ++i)
    parts[std::string(to_string(static_cast<cost::MemoryPart>(i)))] = p.memory.parts[i];
  json["memory"] = {{"worst_rank_bytes", p.memory.total},
                    {"low_bytes", json_or_null(answer.memory_low)},
                    {"high_bytes", json_or_null(answer.memory_high)},
                    {"capacity_bytes", p.memory.capacity},
                    {"worst_stage", p.memory.worst_stage},
                    {"parts", parts}};
  if (p.memory.beyond > 0)
    json["memory"]["offloaded"] = {{"tier", to_string(p.memory.beyond_tier)},
                                   {"bytes", p.memory.beyond},
                                   {"capacity_bytes", p.memory.beyond_capacity}};
  Json breakdown;
  for (int i = 0; i < cost::kNumParts; ++i) {
    const auto part = static_cast<cost::Part>(i);
    breakdown[std::string(to_string(part))] = p.part(part);
  }
  json["breakdown"] = breakdown;
  if (answer.usd_per_step) {
    json["usd_per_step"] = *answer.usd_per_step;
    json["price_date"] = answer.price_date;
  }
  json["expected_error"] = band_json(answer.step_error);
  json["assumptions"] = answer.assumptions;
  if (plan.basis.layers) json["profile"] = Json::parse(sources_json(answer));
  return json.dump(2);
}

Table prediction_row(const app::PredictAnswer& answer) {
  const cost::Prediction& p = answer.prediction;
  const app::ResolvedPlan& plan = answer.plan;
  Table table{.name = "prediction"};
  std::vector<Cell> row;
  const auto add = [&](std::string key, Cell cell) {
    table.columns.push_back({key, key});
    row.push_back(std::move(cell));
  };
  add("model", plan.model.name);
  add("cluster", plan.cluster.name);
  add("devices", plan.cluster.num_devices());
  add("stack", plan.basis.stack.name);
  if (plan.degrees) {
    const plan::Degrees& d = *plan.degrees;
    add("tp", d.tp);
    add("pp", d.pp);
    add("dp", d.dp);
    add("cp", d.cp);
    add("ep", d.ep);
    add("micro_batch", d.micro_batch);
    add("global_batch", d.global_batch);
    add("precision", std::string(to_string(d.precision)));
    add("expert_tp", d.expert_tp);
    add("interleave", d.interleave);
    add("recompute", std::string(to_string(d.recompute)));
    add("recompute_blocks", d.recompute_blocks);
    add("zero", d.zero);
    add("zero_group", d.zero_group);
    add("sequence_parallel", d.sequence_parallel);
    add("tensor_overlap", d.tensor_overlap);
    add("data_overlap", d.data_overlap);
    add("schedule", std::string(to_string(d.schedule)));
    add("context", std::string(to_string(d.context)));
    if (plan.model.table_layer() >= 0) add("table_split", std::string(to_string(d.table_split)));
    add("offload_weights", d.offload.weights);
    add("offload_optimizer", d.offload.optimizer);
    add("offload_activations", d.offload.activations);
    add("offload_tier", std::string(to_string(d.offload.tier)));
  }
  add("step_s", p.step);
  add("step_low_s", answer.step_low ? Cell{*answer.step_low} : Cell{});
  add("step_high_s", answer.step_high ? Cell{*answer.step_high} : Cell{});
  add(answer.counts_tokens ? "tokens_per_s_per_device" : "samples_per_s_per_device",
      answer.rate_per_device);
  add("model_flops_utilization", p.mfu);
  add("model_flops_utilization_causal", causal_mfu(answer));
  add("fits", p.fits);
  add("fits_probability", answer.fits_probability ? Cell{*answer.fits_probability} : Cell{});
  add("worst_rank_bytes", p.memory.total);
  add("capacity_bytes", p.memory.capacity);
  add("usd_per_step", answer.usd_per_step ? Cell{*answer.usd_per_step} : Cell{});
  for (int i = 0; i < cost::kNumParts; ++i) {
    const auto part = static_cast<cost::Part>(i);
    add(std::string(to_string(part)) + "_s", p.part(part));
  }
  table.rows.push_back(std::move(row));
  return table;
}

Report prediction_report(const app::PredictAnswer& answer) {
  Table summary = prediction_summary(answer);
  if (const std::string derived = derived_text(answer.plan); !derived.empty())
    summary.notes.push_back("derived, not given: " + derived);
  if (causal_mfu(answer) < answer.prediction.mfu)
    summary.notes.push_back(
        "MFU counts attention over the full square; \"MFU, causal\" counts causal attention once, "
        "as "
        "most papers do.");
  Report report{.tables = {summary, prediction_breakdown(answer), prediction_memory(answer)},
                .json = prediction_json(answer)};
  if (answer.plan.basis.layers) report.tables.push_back(sources_table(answer));
  return report;
}

}  // namespace nereus::api
