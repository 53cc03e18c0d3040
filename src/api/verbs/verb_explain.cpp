#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api/form/exit_codes.hpp"
#include "api/reports/compare_report.hpp"
#include "api/reports/prediction_report.hpp"
#include "api/verbs/verbs.hpp"
#include "app/predict/explain.hpp"
#include "reproduce/contest.hpp"

namespace nereus::api {

namespace {

Table layers_table(const app::ExplainAnswer& answer) {
  Table table{.name = "layers",
              .title = "One micro-batch of each kind of layer, on one rank",
              .columns = {{"layer", "layer"},
                          {"count", "layers"},
                          {"forward_s", "forward", Unit::kSeconds},
                          {"backward_s", "backward", Unit::kSeconds},
                          {"parameters", "parameters", Unit::kParameters},
                          {"saved_bytes", "kept", Unit::kBytes},
                          {"message_bytes", "sent", Unit::kBytes}}};
  for (const app::LayerLine& line : answer.layers)
    table.rows.push_back(
        {line.layer, line.count, line.cost.forward, line.cost.backward,
         line.cost.parameters + line.cost.expert_parameters + line.cost.table_parameters,
         line.cost.saved, line.cost.message});
  return table;
}

Table operators_table(const app::ExplainAnswer& answer) {
  Table table{.name = "operators",
              .title = "Operator by operator",
              .columns = {{"layer", "layer"},
                          {"operator", "operator"},
                          {"kind", "kind", Unit::kNone, false, false, 2},
                          {"shape", "shape per sample", Unit::kNone, false, false, 1},
                          {"flops", "FLOPs", Unit::kFlops},
                          {"bytes", "moved", Unit::kBytes},
                          {"forward_s", "forward", Unit::kSeconds},
                          {"backward_s", "backward", Unit::kSeconds},
                          {"flops_per_s", "rate", Unit::kFlopsPerSecond}}};
  bool skips = false;
  for (const app::OperatorLine& line : answer.operators) {
    const cost::OperatorCost& c = line.cost;
    table.rows.push_back(
        {line.layer, line.name, line.kind, line.shape, c.flops, c.bytes, c.forward, c.backward,
         c.forward > 0 && c.flops > 0 ? Cell{(c.flops - c.skipped) / c.forward} : Cell{}});
    skips = skips || c.skipped > 0;
  }
  table.notes.push_back("FLOPs and bytes are for the forward pass of one micro-batch on one rank.");
  if (skips)
    table.notes.push_back(
        "FLOPs of causal attention count the full square; its rate counts only what the kernel "
        "computes.");
  return table;
}

Table runs_table(const app::ExplainAnswer& answer) {
  bool teams = false;
  for (const app::RunLine& line : answer.runs) teams = teams || line.ranks_per_team > 1;
  Table table{.name = "runs",
              .title = "Runs of layers",
              .columns = {{"first_layer", "from layer"},
                          {"last_layer", "to layer"},
                          {"first_rank", "first rank"},
                          {"ranks", "ranks"},
                          {"ranks_per_team", "ranks per replica"},
                          {"samples", teams ? "samples per replica" : "samples per rank"},
                          {"least_samples", "at least"}}};
  for (const app::RunLine& line : answer.runs)
    table.rows.push_back({line.first_layer, line.first_layer + line.num_layers - 1, line.first_rank,
                          line.ranks, line.ranks_per_team, line.most_samples, line.least_samples});
  table.notes.emplace_back(
      "this plan consists of runs of layers instead of degrees, so a kind of layer has no single "
      "time");
  return table;
}

Table parameters_table(const app::ExplainAnswer& answer) {
  Table table{.name = "parameters",
              .title = "Parameters of the cost model",
              .columns = {{"name", "number"},
                          {"value", "value"},
                          {"unit", "unit"},
                          {"low", "low", Unit::kNone, false, false, 2},
                          {"high", "high", Unit::kNone, false, false, 2},
                          {"rows", "runs"},
                          {"from", "from"},
                          {"meaning", "meaning", Unit::kNone, false, true, 1}}};
  for (const app::ParameterLine& line : answer.parameters) {
    const bool fitted = line.rows > 0;
    table.rows.push_back({line.name, fmt::format("{:.4g}", line.value),
                          line.unit.empty() ? Cell{} : Cell{line.unit},
                          fitted ? Cell{fmt::format("{:.3g}", line.low)} : Cell{},
                          fitted ? Cell{fmt::format("{:.3g}", line.high)} : Cell{},
                          fitted ? Cell{line.rows} : Cell{}, line.where, line.meaning});
  }
  return table;
}

}  // namespace

Verb explain_verb(Caller& caller) {
  struct Request {
    app::PredictRequest predict;
    std::string other;  // a second plan file
    OutputOptions output;
  };
  auto request = std::make_shared<Request>();
  auto command = std::make_unique<Command>(
      "explain", "explain the step time of a plan and compare it with others");
  add_prediction_options(*command, request->predict);
  command->optional_argument("OTHER", request->other, "a second plan file to compare with");
  add_output_options(*command, request->output);
  command->about(
      "Takes the same input as predict. It shows how the plan compares with all others on these "
      "machines, what more hardware would gain, every operator's work and time, each part of the "
      "step and of memory, the assumptions, and every parameter of the cost model with the number "
      "of runs behind it. For a plan without degrees, such as a burst plan, it does not show "
      "operators but which ranks compute which layers. With two plan files, it shows the "
      "differences between them.");
  command->example("nereus explain --model llama3-8b --cluster 1xdgx-h100 --tp 8",
                   "a plan for "
                   "one node");
  command->example("nereus explain best.plan", "why this plan won and the runner-up lost");
  command->example("nereus explain mine.plan best.plan", "compare two plans");
  command->example("nereus explain --model gpt2 --cluster 1xdgx-a100-80 --format csv",
                   "write the operators as CSV");
  command->run = [&caller, request] {
    if (!request->other.empty()) {
      app::PredictRequest other;
      other.plan_file = request->other;
      other.calibration = request->predict.calibration;
      caller.answer(compare_report(app::predict(request->predict), app::predict(other)),
                    request->output);
      return kDone;
    }
    const app::ExplainAnswer answer = app::explain(request->predict);
    const std::optional<app::Contest> contest = app::contest(answer.prediction);
    Report report;
    Table summary = prediction_summary(answer.prediction);
    for (const std::string& assumption : answer.prediction.assumptions)
      summary.notes.push_back(assumption);
    const bool by_kind = answer.runs.empty();
    if (request->output.format == Format::kCsv) {
      report.tables = {by_kind ? operators_table(answer) : runs_table(answer)};
    } else {
      report.tables = {summary, prediction_breakdown(answer.prediction),
                       prediction_memory(answer.prediction)};
      if (by_kind)
        report.tables.insert(report.tables.end(), {layers_table(answer), operators_table(answer)});
      else
        report.tables.push_back(runs_table(answer));
      report.tables.push_back(parameters_table(answer));
      if (contest) {
        const std::vector<Table> tables = contest_tables(answer.prediction, *contest);
        report.tables.insert(report.tables.begin() + 3, tables.begin(), tables.end());
      }
    }
    if (request->output.format == Format::kJson) {
      // The prediction's fields are at the top level, as predict prints them; the tables are added.
      auto json = nlohmann::ordered_json::parse(prediction_json(answer.prediction));
      std::vector<Table> tables = {layers_table(answer), operators_table(answer)};
      if (!by_kind) tables.push_back(runs_table(answer));
      for (const Table& table : tables)
        json[table.name] =
            nlohmann::ordered_json::parse(render_json({.tables = {table}}))[table.name];
      for (const app::ParameterLine& line : answer.parameters)
        json["parameters"].push_back({{"name", line.name},
                                      {"value", line.value},
                                      {"unit", line.unit},
                                      {"low", line.low},
                                      {"high", line.high},
                                      {"rows", line.rows},
                                      {"from", line.where},
                                      {"meaning", line.meaning}});
      if (contest)
        json["contest"] = nlohmann::ordered_json::parse(contest_json(answer.prediction, *contest));
      report.json = json.dump(2);
    }
    caller.answer(report, request->output);
    return kDone;
  };
  return command;
}

}  // namespace nereus::api
