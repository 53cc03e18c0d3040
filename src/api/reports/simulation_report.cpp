#include "api/reports/simulation_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/form/json.hpp"
#include "api/reports/prediction_report.hpp"
#include "base/format.hpp"
#include "timeline/text_drawing.hpp"

namespace nereus::api {

namespace {

using simulate::RankStatistics;

constexpr std::size_t kMostRanks = 64;

double step_of(const app::SimulateAnswer& answer) {
  return answer.quantiles ? answer.quantiles->mean : answer.step.step;
}

// The shares shown per rank, and their keys.
struct Share {
  const char* key;
  const char* title;
  double (*of)(const RankStatistics&);
  bool always;  // else where any rank has some
  int rank;     // the highest are dropped first if there is not enough space
};
const Share kShares[] = {
    {"compute", "compute", [](const RankStatistics& r) { return r.compute; }, true, 0},
    {"collectives", "collectives", [](const RankStatistics& r) { return r.collectives; }, false, 1},
    {"send", "sending", [](const RankStatistics& r) { return r.send; }, false, 4},
    {"wait_input", "waits for input", [](const RankStatistics& r) { return r.wait_input; }, false,
     2},
    {"wait_gradient", "waits for gradient", [](const RankStatistics& r) { return r.wait_gradient; },
     false, 2},
    {"reduction", "reduction", [](const RankStatistics& r) { return r.reduction; }, false, 3},
    {"wait_others", "waits for others", [](const RankStatistics& r) { return r.wait_others; },
     false, 2},
    {"closing", "closing", [](const RankStatistics& r) { return r.closing; }, false, 5},
};

Table ranks_table(const app::SimulateAnswer& answer, bool all_columns) {
  const std::vector<RankStatistics>& ranks = answer.statistics.ranks;
  const bool several = answer.step.teams.size() > 1;
  Table table{.name = "ranks",
              .title = several ? "Pipeline ranks of the slowest replica, as shares of the step"
                               : "Pipeline ranks, as shares of the step"};
  table.columns.push_back({"rank", "rank"});
  std::vector<const Share*> shown;
  for (const Share& share : kShares) {
    const bool any = std::any_of(ranks.begin(), ranks.end(), [&](const RankStatistics& r) {
      return share.of(r) > 5e-4 * answer.step.step;
    });
    if (!share.always && !any && !all_columns) continue;
    shown.push_back(&share);
    table.columns.push_back({share.key, share.title, Unit::kShare, false, false, share.rank});
  }
  table.columns.push_back({"peak", "peak"});
  const auto slowest = &answer.step.slowest() - answer.step.teams.data();
  for (const RankStatistics& r : ranks) {
    if (r.team != slowest || table.rows.size() >= kMostRanks) continue;
    const int size = answer.work.lanes[answer.step.teams[r.team].lane].ranks_per_team;
    std::vector<Cell> row{size > 1
                              ? Cell(fmt::format("{}-{}", r.first_rank, r.first_rank + size - 1))
                              : Cell(r.first_rank)};
    for (const Share* share : shown) row.push_back(share->of(r) / answer.step.step);
    row.push_back(r.peak);
    table.rows.push_back(std::move(row));
  }
  if (table.rows.size() < ranks.size())
    table.notes.push_back(
        fmt::format("{} simulated; --format json shows all",
                    counted(ranks.size() - table.rows.size(), "more rank was", "more ranks were")));
  table.notes.emplace_back(
      "peak: the largest number of micro-batches whose activations one "
      "virtual stage holds");
  return table;
}

Table drawing_table(const app::SimulateAnswer& answer, const Terminal& out) {
  Table table{
      .name = "drawing",
      .title = answer.step.teams.size() > 1 ? "Timeline of the slowest replica" : "Timeline",
      .columns = {{"stage", "stage"}, {"drawing", "passes", Unit::kNone, false, false}}};
  const int width = std::clamp((out.width > 0 ? out.width : 100) - 12, 20, 120);
  const std::vector<std::string> lines = timeline::text_drawing(answer.passes, width);
  for (std::size_t r = 0; r < lines.size() && r < kMostRanks; ++r)
    table.rows.push_back({r, lines[r]});
  table.notes.emplace_back(
      "digits: forward; letters: backward; dots: weight gradients; colons: recompute");
  return table;
}

Table path_table(const app::SimulateAnswer& answer) {
  const simulate::CriticalPath& path = answer.statistics.path;
  Table table{
      .name = "critical_path",
      .title = "Critical path",
      .columns = {
          {"part", "part"}, {"seconds", "time", Unit::kSeconds}, {"share", "share", Unit::kShare}}};
  double sum = 0;
  for (const double part : path.seconds) sum += part;
  for (int i = 0; i < simulate::kNumPathParts; ++i) {
    const double part = path.seconds[i];
    if (part <= 0) continue;
    table.rows.push_back({std::string(to_string(static_cast<simulate::PathPart>(i))), part,
                          sum > 0 ? part / sum : 0});
  }
  return table;
}

Table quantile_table(const app::StepQuantiles& q) {
  return {.name = "quantiles",
          .title = counted(q.steps, "step"),
          .columns = {{"mean_s", "mean", Unit::kSeconds},
                      {"least_s", "least", Unit::kSeconds},
                      {"p5_s", "5 %", Unit::kSeconds},
                      {"p50_s", "median", Unit::kSeconds},
                      {"p95_s", "95 %", Unit::kSeconds},
                      {"p99_s", "99 %", Unit::kSeconds},
                      {"most_s", "most", Unit::kSeconds}},
          .rows = {{q.mean, q.least, q.p5, q.p50, q.p95, q.p99, q.most}}};
}

// The prediction with the played step in place of its own, for what follows from the step.
app::PredictAnswer as_played(const app::SimulateAnswer& answer) {
  app::PredictAnswer out = answer.predicted;
  const double ratio = step_of(answer) / out.prediction.step;
  out.prediction.step *= ratio;
  out.prediction.mfu /= ratio;
  out.rate_per_device /= ratio;
  if (out.usd_per_step) *out.usd_per_step *= ratio;
  return out;
}

Table summary_table(const app::SimulateAnswer& answer) {
  Table table = prediction_summary(as_played(answer));
  // The step comes first here, and once.
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].key == "step_s") {
      table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(i));
      table.rows[0].erase(table.rows[0].begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  std::size_t at = 0;
  const auto insert = [&](Column column, Cell cell) {
    table.columns.insert(table.columns.begin() + static_cast<std::ptrdiff_t>(at),
                         std::move(column));
    table.rows[0].insert(table.rows[0].begin() + static_cast<std::ptrdiff_t>(at), std::move(cell));
    ++at;
  };
  insert({"simulated_s", "simulated step", Unit::kSeconds}, step_of(answer));
  insert({"predicted_s", "closed form", Unit::kSeconds}, answer.predicted.prediction.step);
  if (answer.shared) {
    insert({"shared_links_s", "full overlap", Unit::kSeconds}, answer.shared->step);
    insert({"contention_s", "  of which contention", Unit::kSeconds},
           answer.shared->step - answer.shared->apart);
  }
  if (answer.layers) {
    insert({"layers_s", "layer by layer", Unit::kSeconds}, answer.layers->seconds);
    insert({"layers_exposed_s", "  of which not compute", Unit::kSeconds}, answer.layers->exposed);
    table.notes.push_back(fmt::format(
        "layer by layer: {} nodes, {} and {} events simulated in {:.2g} s, which stand for {} "
        "events of all ranks",
        answer.layers->nodes, counted(answer.layers->collectives, "collective"),
        answer.layers->events, answer.layers_seconds, answer.layers->events_represented));
  }
  insert({"bubble_s", "longest idle", Unit::kSeconds}, answer.statistics.bubble);
  const bool greedy = std::any_of(answer.step.lanes.begin(), answer.step.lanes.end(),
                                  [](const auto& lane) { return lane.greedy; });
  if (greedy)
    table.notes.emplace_back(
        "the schedule's own order does not exist for this number of stages or micro-batches; "
        "ranks run backward passes first, then forward passes");
  if (answer.shared)
    table.notes.emplace_back(
        "full overlap: messages and reductions overlap with passes, as far as the links allow");
  if (answer.layers)
    table.notes.emplace_back(
        "layer by layer: simulates every layer's collectives, without the network overheads of "
        "real software");
  if (!answer.fits && answer.predicted.prediction.fits)
    table.notes.emplace_back("in this order some rank needs more than its memory: does NOT fit");
  if (answer.quantiles)
    table.notes.emplace_back(
        "the step time is the mean; ranks, critical path and timeline are of "
        "the first simulated step");
  table.notes.push_back(
      fmt::format("{} events simulated in {:.2g} s, which stand for {} events "
                  "of all ranks",
                  answer.step.events, answer.seconds, answer.step.events_represented));
  return table;
}

Json rank_json(const RankStatistics& r, double step) {
  Json json;
  json["rank"] = r.first_rank;
  json["pipeline_rank"] = r.pipeline_rank;
  json["busy"] = r.compute / step;
  json["communication"] = r.communication() / step;
  json["idle"] = r.idle() / step;
  for (const Share& share : kShares) json["shares"][share.key] = share.of(r) / step;
  json["peak_micro_batches"] = r.peak;
  json["peak_bytes"] = r.peak_bytes;
  return json;
}

std::string json_of(const app::SimulateAnswer& answer) {
  Json json;
  json["step_s"] = step_of(answer);
  json["predicted_s"] = answer.predicted.prediction.step;
  json["fits"] = answer.fits;
  json["events"] = answer.step.events;
  json["events_represented"] = answer.step.events_represented;
  json["seconds"] = answer.seconds;
  json["bubble"] = answer.statistics.bubble;
  if (answer.quantiles) {
    const app::StepQuantiles& q = *answer.quantiles;
    json["quantiles"] = {{"steps", q.steps}, {"mean", q.mean}, {"least", q.least},
                         {"p5", q.p5},       {"p50", q.p50},   {"p95", q.p95},
                         {"p99", q.p99},     {"most", q.most}};
  }
  if (answer.shared)
    json["shared_links"] = {{"step_s", answer.shared->step},
                            {"apart_s", answer.shared->apart},
                            {"contention_s", answer.shared->step - answer.shared->apart},
                            {"events", answer.shared->events}};
  if (answer.layers) {
    const chakra::LayerPlay& layers = *answer.layers;
    json["layers"] = {{"step_s", layers.seconds},
                      {"compute_s", layers.compute},
                      {"exposed_s", layers.exposed},
                      {"nodes", layers.nodes},
                      {"collectives", layers.collectives},
                      {"events", layers.events},
                      {"events_represented", layers.events_represented},
                      {"seconds", answer.layers_seconds}};
  }
  json["critical_path"] = Json::object();
  for (int i = 0; i < simulate::kNumPathParts; ++i)
    json["critical_path"][std::string(to_string(static_cast<simulate::PathPart>(i)))] =
        answer.statistics.path.seconds[i];
  json["ranks"] = Json::array();
  for (const RankStatistics& rank : answer.statistics.ranks)
    json["ranks"].push_back(rank_json(rank, answer.step.step));
  json["prediction"] = Json::parse(prediction_json(answer.predicted));
  return json.dump(2);
}

}  // namespace

Report simulation_report(const app::SimulateAnswer& answer, const Terminal& out, bool all_columns) {
  Report report{.tables = {summary_table(answer)}, .json = json_of(answer)};
  if (answer.quantiles) report.tables.push_back(quantile_table(*answer.quantiles));
  report.tables.push_back(ranks_table(answer, all_columns));
  if (answer.work.depth > 1) report.tables.push_back(drawing_table(answer, out));
  report.tables.push_back(path_table(answer));
  return report;
}

}  // namespace nereus::api
