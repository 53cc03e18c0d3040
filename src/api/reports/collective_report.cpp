#include "api/reports/collective_report.hpp"

#include <fmt/format.h>

#include "api/form/json.hpp"
#include "app/simulate/simulate_astra.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "plan/degree_fields.hpp"

namespace nereus::api {

namespace {

using app::CollectiveAnswer;
using app::TriedAlgorithms;

std::string words_of(const std::vector<simulate::Algorithm>& algorithms) {
  std::string text;
  for (const simulate::Algorithm algorithm : algorithms)
    text += fmt::format("{}{}", text.empty() ? "" : ",", to_string(algorithm));
  return text;
}

std::string network_text(const CollectiveAnswer& answer) {
  std::string text;
  for (const simulate::Dimension& d : answer.dimensions) {
    text += fmt::format("{}{}({}", text.empty() ? "" : " x ", to_string(d.kind), d.size);
    if (d.below_switch() < d.size) text += fmt::format(" by {}", d.below_switch());
    text += fmt::format(", {}, {})", human(d.bandwidth, Unit::kBytesPerSecond),
                        human(d.latency, Unit::kSeconds));
  }
  return text;
}

std::string bottleneck_text(const CollectiveAnswer& answer) {
  const simulate::FullestLink& fullest = answer.best().simulated.fullest;
  const auto d = static_cast<std::size_t>(fullest.dimension);
  return fmt::format("{} of dimension {} ({}): busy {} of the time", to_string(fullest.link), d + 1,
                     to_string(answer.dimensions[d].kind), human(fullest.share, Unit::kShare));
}

Table summary(const CollectiveAnswer& answer) {
  const TriedAlgorithms& best = answer.best();
  Table table{.name = "collective", .record = true};
  std::vector<Cell> row;
  const auto add = [&](std::string key, std::string title, Cell cell, Unit unit = Unit::kNone) {
    table.columns.push_back({std::move(key), std::move(title), unit, false, true});
    row.push_back(std::move(cell));
  };
  add("collective_s", "time", best.collective_s, Unit::kSeconds);
  add("collective", "collective",
      fmt::format("{} of {} on {} ranks, {}", to_string(answer.collective),
                  human(answer.bytes, Unit::kBytes), answer.num_ranks,
                  counted(answer.chunks, "chunk")));
  add("network", "network", network_text(answer));
  add("algorithm", "algorithm", words_of(best.algorithms));
  add("algorithm_bandwidth", "algorithm bandwidth", answer.algorithm_bandwidth,
      Unit::kBytesPerSecond);
  add("bus_bandwidth", "bus bandwidth", answer.bus_bandwidth, Unit::kBytesPerSecond);
  if (answer.astra_sim) {
    add("view", "view", "closed form of ASTRA-sim, without congestion");
    table.notes.emplace_back(
        "in ASTRA-sim, direct on a switch is faster than its port allows, because messages do not "
        "share the port");
  } else {
    add("bottleneck", "busiest link", bottleneck_text(answer));
    table.notes.push_back(fmt::format(
        "{} events simulated, which stand for {} events of all "
        "ranks; ranks simulated: {}",
        best.simulated.events, best.simulated.events_represented, best.simulated.ranks_played));
  }
  table.rows.push_back(std::move(row));
  return table;
}

Table algorithms_table(const CollectiveAnswer& answer) {
  Table table{.name = "algorithms",
              .title = "Algorithms, one per dimension",
              .columns = {{"algorithm", "algorithm"},
                          {"collective_s", "time", Unit::kSeconds},
                          {"events", "events"},
                          {"ranks_played", "ranks simulated"}}};
  const bool all = answer.tried.back().why_not.empty();  // they come last
  if (!all) table.columns.push_back({"why_not", "reason not tried", Unit::kNone, false, true});
  for (const TriedAlgorithms& t : answer.tried) {
    const bool tried = t.why_not.empty();
    std::vector<Cell> row{words_of(t.algorithms)};
    row.push_back(tried ? Cell(t.collective_s) : Cell());
    row.push_back(tried && !answer.astra_sim ? Cell(t.simulated.events) : Cell());
    row.push_back(tried && !answer.astra_sim ? Cell(t.simulated.ranks_played) : Cell());
    if (!all) row.push_back(tried ? Cell() : Cell(t.why_not));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string json_of(const CollectiveAnswer& answer) {
  const TriedAlgorithms& best = answer.best();
  const auto words = [](const std::vector<simulate::Algorithm>& algorithms) {
    Json list = Json::array();
    for (const simulate::Algorithm algorithm : algorithms) list.push_back(to_string(algorithm));
    return list;
  };
  Json json;
  json["collective"] = to_string(answer.collective);
  json["bytes"] = answer.bytes;
  json["ranks"] = answer.num_ranks;
  json["chunks"] = answer.chunks;
  json["compat"] = answer.astra_sim ? Json("astra-sim") : Json(nullptr);
  json["algorithm"] = words(best.algorithms);
  json["collective_s"] = best.collective_s;
  json["algorithm_bandwidth"] = answer.algorithm_bandwidth;
  json["bus_bandwidth"] = answer.bus_bandwidth;
  json["seconds"] = best.seconds;
  json["events"] = best.simulated.events;
  json["events_represented"] = best.simulated.events_represented;
  json["folded"] = best.simulated.folded;
  json["ranks_played"] = best.simulated.ranks_played;
  json["bottleneck"] = nullptr;
  if (!answer.astra_sim) {
    const simulate::FullestLink& fullest = best.simulated.fullest;
    const auto d = static_cast<std::size_t>(fullest.dimension);
    json["bottleneck"] = {{"link", to_string(fullest.link)},
                          {"dimension", d + 1},
                          {"kind", to_string(answer.dimensions[d].kind)},
                          {"share", fullest.share}};
  }
  json["dimensions"] = Json::array();
  for (const simulate::Dimension& d : answer.dimensions)
    json["dimensions"].push_back({{"kind", to_string(d.kind)},
                                  {"size", d.size},
                                  {"bandwidth_bytes_per_s", d.bandwidth},
                                  {"latency_s", d.latency}});
  json["algorithms"] = Json::array();
  for (const TriedAlgorithms& t : answer.tried) {
    Json one{{"algorithm", words(t.algorithms)}};
    if (t.why_not.empty())
      one["collective_s"] = t.collective_s;
    else
      one["not_tried"] = t.why_not;
    json["algorithms"].push_back(one);
  }
  return json.dump(2);
}

Report report_of(const CollectiveAnswer& answer, Format format) {
  Report report{.tables = {summary(answer)}, .json = json_of(answer)};
  if (answer.tried.size() > 1) report.tables.push_back(algorithms_table(answer));
  if (format == Format::kCsv) report.tables = {algorithms_table(answer)};
  return report;
}

Report report_of(const app::AstraStepAnswer& answer) {
  const simulate::AstraIteration& i = answer.iteration;
  const double step = static_cast<double>(i.ns) * 1e-9;
  const double compute = static_cast<double>(i.compute_ns) * 1e-9;
  const int ranks = answer.decoder.tp * answer.decoder.dp;
  Table table{.name = "step", .record = true};
  table.columns = {{"step_s", "ASTRA-sim's step", Unit::kSeconds},
                   {"step_ns", "in ns", Unit::kCount},
                   {"compute_s", "compute", Unit::kSeconds},
                   {"communication_s", "exposed communication", Unit::kSeconds},
                   {"plan", "plan"},
                   {"predicted_s", "predicted step", Unit::kSeconds}};
  table.rows = {{step, i.ns, compute, step - compute,
                 fmt::format("{}, tp {} x dp {}, {} x {} tokens per replica",
                             answer.predicted.plan.model.name, answer.decoder.tp, answer.decoder.dp,
                             answer.decoder.batch, answer.decoder.seq),
                 answer.predicted.prediction.step}};
  table.notes.push_back(
      fmt::format("{} trace nodes of one rank stand for {}; only transformer blocks are counted, "
                  "without embedding, head and optimizer",
                  i.nodes, counted(ranks, "rank")));
  Json json;
  json["compat"] = "astra-sim";
  json["step_s"] = step;
  json["step_ns"] = i.ns;
  json["compute_s"] = compute;
  json["exposed_communication_s"] = step - compute;
  json["predicted_s"] = answer.predicted.prediction.step;
  json["fits"] = answer.predicted.prediction.fits;
  json["events"] = i.nodes;
  json["events_represented"] = i.nodes * ranks;
  json["seconds"] = answer.seconds;
  json["bubble"] = 0.0;
  const double busy = step > 0 ? compute / step : 1;
  json["ranks"] = Json::array({{{"busy", busy}, {"idle", 0.0}, {"communication", 1 - busy}}});
  return {.tables = {table}, .json = json.dump(2)};
}

}  // namespace

void add_collective_options(Command& command, app::SimulateCollectiveRequest& request) {
  command.group("One collective, or compatibility with another simulator");
  command.text("--collective", "NAME", request.collective,
               "simulate this collective instead of a plan: all-reduce, all-gather, "
               "reduce-scatter or all-to-all");
  command.text("--bytes", "SIZE", request.bytes,
               "size of the buffer that is reduced, of the gathered result, or of what one rank "
               "sends in total, such as 64MiB");
  command.text("--network", "FILE", request.network_file,
               "use this network instead of that of --cluster");
  command.text(
      "--algorithm", "NAME[,NAME...]", request.algorithms,
      "ring, two-way-ring, direct, halving-doubling, tree or double-tree; one for all dimensions "
      "or one per dimension (default: the fastest)");
  command.whole("--chunks", request.chunks, 1,
                "number of chunks sent one after another (default: "
                "1)");
  command.flag("--unfolded", request.unfolded,
               "simulate every rank, even if one could stand for "
               "all");
  command.choice("--compat", {{"astra-sim", [&request] { request.astra_sim = true; }}},
                 "compute a collective, or a step of a plan, in the way of another simulator");
}

std::optional<Report> network_simulation(const app::PredictRequest& plan,
                                         app::SimulateCollectiveRequest request, Format format) {
  if (!request.collective.empty()) {
    if (!plan.model.model.empty() || !plan.model.overrides.empty() || !plan.plan_file.empty() ||
        !plan::given_options(plan.degrees).empty())
      throw_input_error("cli.conflict", "a collective has no model, no plan and no degrees", {},
                        "remove them, or remove --collective");
    request.cluster = plan.cluster;
    return report_of(app::simulate_collective(request), format);
  }
  if (!request.bytes.empty() || request.unfolded)
    throw_input_error("cli.missing-argument", "--bytes and --unfolded need --collective", {},
                      "--collective all-reduce");
  if (request.astra_sim)
    return report_of(app::simulate_astra({.predict = plan,
                                          .network_file = request.network_file,
                                          .algorithms = request.algorithms,
                                          .chunks = request.chunks}));
  if (!request.network_file.empty() || !request.algorithms.empty() || request.chunks)
    throw_input_error("cli.conflict",
                      "--network, --algorithm and --chunks need --collective or --compat", {},
                      "--collective all-reduce --bytes 64MiB");
  return std::nullopt;
}

}  // namespace nereus::api
