#include "api/reports/burst_report.hpp"

#include <fmt/format.h>

#include "api/form/json.hpp"
#include "api/reports/prediction_report.hpp"
#include "api/reports/sources_report.hpp"
#include "base/format.hpp"
#include "cost/measured.hpp"
#include "plan/plan_json.hpp"

namespace nereus::api {

namespace {

// "8 x 14, 1 x 8": ranks of so many layers one after the other.
std::string counts_text(const app::BurstRow& row, const std::vector<int>& counts) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> parts;
  const std::vector<burst::BlockPlace>& blocks = row.plan.blocks;
  for (std::size_t i = 0; i < blocks.size();) {
    std::size_t n = 1;
    while (i + n < blocks.size() && blocks[i + n] == blocks[i]) ++n;
    parts.push_back(fmt::format("{} x {}", counts[blocks[i].candidate], n));
    i += n;
  }
  const std::size_t more = parts.size() > kMost ? parts.size() - kMost : 0;
  if (more > 0) parts.resize(kMost);
  std::string out;
  for (const std::string& own : parts) out += (out.empty() ? "" : ", ") + own;
  return more > 0 ? fmt::format("{} and {} more", out, more) : out;
}

// "one rank needs 111.9 % of its memory": a narrow terminal has no column of it.
std::string too_full_text(const std::vector<app::BurstRow>& rows) {
  std::string out;
  for (const app::BurstRow& own : rows) {
    const cost::Prediction& whole = own.predicted.prediction;
    if (!whole.fits)
      out += fmt::format("{}{} needs {} of its memory", out.empty() ? "" : ", ", own.name,
                         human(whole.memory.total / whole.memory.capacity, Unit::kShare));
  }
  return out.empty() ? out : "does not fit: " + out;
}

Json row_json(const app::BurstRow& row, const app::BurstAnswer& answer) {
  Json json = Json::parse(prediction_json(row.predicted));
  json["name"] = row.name;
  json["planned_step_s"] = row.plan.seconds;
  json["rank_seconds"] = row.plan.rank_seconds;
  json["amplification"] = row.plan.rank_seconds / answer.one_rank;
  json["ranks"] = row.ranks;
  Json counts = Json::array();
  for (const burst::BlockPlace& own : row.plan.blocks)
    counts.push_back(answer.counts[own.candidate]);
  json["ranks_by_layer"] = counts;
  json["placement"] =
      Json::parse(plan::plan_to_json(app::to_plan(row.predicted.plan)))["placement"];
  return json;
}

}  // namespace

Report burst_report(const app::BurstAnswer& answer) {
  Table table{
      .name = "plans",
      .title = fmt::format("{} on {}, {}, {}", answer.inputs.model.name, answer.inputs.cluster.name,
                           counted(format_count(answer.global_batch), "sample"),
                           to_string(answer.precision))};
  table.columns = {{"name", "plan"},
                   {"planned_step_s", "step", Unit::kSeconds},
                   {"rank_seconds", "rank-seconds", Unit::kSeconds},
                   {"amplification", "amplification"},
                   {"ranks", "ranks"},
                   {"step_s", "full prediction", Unit::kSeconds, false, false, 1},
                   {"memory", "memory", Unit::kShare, false, false, 2},
                   {"counts", "ranks x layers", Unit::kNone, false, true}};
  Json json;
  json["model"] = answer.inputs.model.name;
  json["cluster"] = answer.inputs.cluster.name;
  json["global_batch"] = answer.global_batch;
  json["one_rank_s"] = answer.one_rank;
  json["plans"] = Json::array();
  for (const app::BurstRow& own : answer.rows) {
    const cost::Prediction& whole = own.predicted.prediction;
    table.rows.push_back({own.name, own.plan.seconds, own.plan.rank_seconds,
                          format_significant(own.plan.rank_seconds / answer.one_rank), own.ranks,
                          whole.step, whole.memory.total / whole.memory.capacity,
                          counts_text(own, answer.counts)});
    json["plans"].push_back(row_json(own, answer));
  }
  json["front"] = Json::array();
  for (const burst::BurstPlan& own : answer.front.plans)
    json["front"].push_back({{"step_s", own.seconds}, {"rank_seconds", own.rank_seconds}});
  if (answer.inputs.basis.layers && !answer.rows.empty()) {
    table.notes.push_back("layer times of the picked plan: " +
                          sources_summary(answer.rows.front().predicted));
    const std::vector<std::string>& more = answer.inputs.basis.layers->notes;
    table.notes.insert(table.notes.end(), more.begin(), more.end());
  }
  if (std::string note = too_full_text(answer.rows); !note.empty())
    table.notes.push_back(std::move(note));
  table.notes.push_back(fmt::format(
      "Pareto front of {}; {} tried per layer",
      counted(format_count(static_cast<std::int64_t>(answer.front.plans.size())), "plan"),
      counted(answer.counts.size(), "rank count")));
  if (answer.target) {
    const app::SamplesToTarget& t = answer.target->target;
    std::string note =
        fmt::format("{}: training needs {} samples with batches of {} (critical batch {})", t.name,
                    format_significant(t.samples(answer.global_batch)),
                    format_count(answer.global_batch), format_significant(t.critical));
    // Without a plan nothing gets there.
    const bool planned = !answer.rows.empty();
    if (planned)
      note += fmt::format("; it reaches the target in {}",
                          format_seconds(Seconds{answer.target->seconds}));
    table.notes.push_back(std::move(note));
    json["samples_to_target"] = {
        {"name", t.name},
        {"samples", t.samples(answer.global_batch)},
        {"critical_batch", t.critical},
        {"seconds", planned ? Json(answer.target->seconds) : Json()},
        {"rank_seconds", planned ? Json(answer.target->rank_seconds) : Json()}};
  }
  table.notes.insert(table.notes.end(), answer.notes.begin(), answer.notes.end());
  json["notes"] = answer.notes;
  json["evaluated"] = answer.front.labels;
  json["seconds"] = answer.seconds;
  return {{std::move(table)}, json.dump()};
}

}  // namespace nereus::api
