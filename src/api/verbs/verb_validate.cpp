#include <fmt/format.h>

#include "api/form/exit_codes.hpp"
#include "api/form/json.hpp"
#include "api/reports/network_report.hpp"
#include "api/reports/pipelines_report.hpp"
#include "api/reports/prediction_report.hpp"
#include "api/verbs/verbs.hpp"
#include "app/plan/planned_runs.hpp"
#include "app/validate/validate_network.hpp"
#include "app/validate/validate_runs.hpp"
#include "base/format.hpp"
#include "base/write_file.hpp"
#include "calibrate/coverage.hpp"

namespace nereus::api {

namespace {

using calibrate::ErrorSummary;
using calibrate::Validation;

Json json_of(const ErrorSummary& e) {
  return {{"used", e.used},
          {"mean_abs_error", e.mean_abs_error},
          {"median_abs_error", e.median_abs_error},
          {"mean_log_error", e.mean_log_error},
          {"bias", e.bias}};
}

// Null where no row has an interval.
Json json_of(const calibrate::IntervalSummary& i) {
  const bool known = i.rows > 0;
  return {{"level", calibrate::kIntervalLevel},
          {"rows", i.rows},
          {"covered", known ? Json(i.covered) : Json(nullptr)},
          {"median_width", known ? Json(i.median_width) : Json(nullptr)}};
}

Table rows_table(const app::ValidateAnswer& answer) {
  Table table{.name = "results",
              .columns = {{"set", "set"},
                          {"line", "line"},
                          {"model", "model"},
                          {"gpus", "gpus"},
                          {"stack", "stack", Unit::kNone, false, false, 2},
                          {"tp", "tp"},
                          {"pp", "pp"},
                          {"dp", "dp"},
                          {"micro_batch", "mb"},
                          {"measured_s", "measured", Unit::kSeconds},
                          {"predicted_s", "predicted", Unit::kSeconds},
                          {"error", "error", Unit::kShare},
                          {"low_s", "low", Unit::kSeconds, false, false, 1},
                          {"high_s", "high", Unit::kSeconds, false, false, 1},
                          {"measured_memory_bytes", "memory", Unit::kBytes, false, false, 1},
                          {"predicted_memory_bytes", "predicted", Unit::kBytes, false, false, 1},
                          {"fits", "fits", Unit::kNone, false, false, 1},
                          {"suspect", "suspect", Unit::kNone, false, false, 1},
                          {"failed", "failed", Unit::kNone, false, false, 2},
                          {"derived", "derived", Unit::kNone, false, true, 1}}};
  for (const calibrate::RowResult& row : answer.validation.results) {
    const calibrate::Run& run = *row.run;
    table.rows.push_back(
        {run.set,
         run.line,
         run.model_name,
         run.degrees.num_ranks(),
         run.stack,
         run.degrees.tp,
         run.degrees.pp,
         run.degrees.dp,
         run.degrees.micro_batch,
         run.failed ? Cell{} : Cell{run.step},
         row.prediction.step,
         run.failed ? Cell{} : Cell{row.prediction.step / run.step - 1},
         row.step_low ? Cell{*row.step_low} : Cell{},
         row.step_high ? Cell{*row.step_high} : Cell{},
         run.memory > 0 ? Cell{run.memory} : Cell{},
         row.predicted_memory,
         row.fits && row.buildable,
         run.suspect.empty() ? Cell{} : Cell{run.suspect},
         run.failed,
         run.derived.empty() ? Cell{} : Cell{fmt::format("{}", fmt::join(run.derived, " "))}});
  }
  return table;
}

Table sets_table(const app::ValidateAnswer& answer) {
  const Validation& v = answer.validation;
  Table table{
      .name = "sets",
      .title = answer.left_out ? "Error of the step time of rows left out of the fit, by set"
                               : "Error of the step time, by set",
      .columns = {{"set", "set"},
                  {"used", "runs"},
                  {"mean_abs_error", "mean", Unit::kShare},
                  {"median_abs_error", "median", Unit::kShare},
                  {"bias", "bias", Unit::kShare},
                  {"covered", "in 80 %", Unit::kShare},
                  {"median_width", "width", Unit::kShare},
                  {"null_mean_abs_error", "constant MFU", Unit::kShare},
                  {"assumed", "plan not stated"},
                  {"assumed_mean_abs_error", "their mean", Unit::kShare, false, false, 1},
                  {"suspect", "suspect"},
                  {"all_mean_abs_error", "mean incl. suspect", Unit::kShare, false, false, 1},
                  {"all_median_abs_error", "median incl. suspect", Unit::kShare, false, false, 1}}};
  for (const auto& [name, set] : v.sets) {
    const auto suspect = v.suspect.find(name);
    const auto assumed = v.assumed.find(name);
    const bool any = set.errors.used > 0;
    const auto share = [&](double value) { return any ? Cell{value} : Cell{}; };
    table.rows.push_back(
        {name, set.errors.used, share(set.errors.mean_abs_error),
         share(set.errors.median_abs_error), share(set.errors.bias),
         set.intervals.rows > 0 ? Cell{set.intervals.covered} : Cell{},
         set.intervals.rows > 0 ? Cell{set.intervals.median_width} : Cell{},
         share(set.null_mean_abs_error), assumed == v.assumed.end() ? 0 : assumed->second.used,
         assumed == v.assumed.end() ? Cell{} : Cell{assumed->second.mean_abs_error},
         suspect == v.suspect.end() ? 0 : suspect->second.used, set.all_mean_abs_error,
         set.all_median_abs_error});
  }
  return table;
}

Table overall_table(const Validation& v) {
  Table table{.name = "overall", .record = true};
  std::vector<Cell> row;
  const auto add = [&](std::string key, std::string title, Cell cell) {
    table.columns.push_back({std::move(key), std::move(title), Unit::kNone, false, true});
    row.push_back(std::move(cell));
  };
  int skipped = 0;
  std::string reasons;
  for (const auto& [why, count] : v.skipped) {
    skipped += count;
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", count, why);
  }
  add("rows", "rows",
      fmt::format("{}: {} used, {} skipped{}{}", v.rows, v.used, skipped, skipped > 0 ? ": " : "",
                  reasons));
  if (!v.derived.empty()) {
    std::vector<std::string> columns;
    for (const auto& [column, count] : v.derived)
      columns.push_back(fmt::format("{} in {}", column, counted(count, "row")));
    add("derived", "derived",
        fmt::format("{}: left blank, filled in as plan would (--rows shows where)",
                    fmt::join(columns, ", ")));
    int rows = 0;
    double sum = 0;
    for (const auto& [set, summary] : v.assumed) {
      rows += summary.used;
      sum += summary.used * summary.mean_abs_error;
    }
    if (rows > 0)
      add("assumed", "plan not stated",
          fmt::format("{}: {:.1f} % mean error, of plans that were perhaps not run; counted in no "
                      "other error",
                      counted(rows, "row"), 100 * sum / rows));
  }
  add("error", "step time",
      fmt::format("{:.1f} % mean, {:.1f} % median, bias {:+.1f} %", 100 * v.overall.mean_abs_error,
                  100 * v.overall.median_abs_error, 100 * v.overall.bias));
  if (v.intervals.rows > 0)
    add("intervals", "80 % intervals",
        fmt::format("hold {:.1f} % of {}; median width {:.1f} %", 100 * v.intervals.covered,
                    counted(v.intervals.rows, "run"), 100 * v.intervals.median_width));
  if (v.ranking.groups > 0)
    add("ranking", "ranking",
        fmt::format("{}: the run predicted to be best is {:.1f} % slower than the best one (mean; "
                    "median {:.1f} %); Kendall's tau {:.2f}",
                    counted(v.ranking.groups, "group"), 100 * v.ranking.mean_regret,
                    100 * v.ranking.median_regret, v.ranking.kendall_tau));
  if (v.memory.rows > 0)
    add("memory", "memory",
        fmt::format("{}: {:.1f} % mean, {:.1f} % median", counted(v.memory.rows, "row"),
                    100 * v.memory.mean_abs_error, 100 * v.memory.median_abs_error));
  const auto& f = v.feasibility;
  add("feasibility", "feasibility",
      fmt::format("{} of {} predicted to fit", f.ran_predicted_to_fit,
                  counted(f.ran_rows, "run that ran is", "runs that ran are")) +
          (f.failed_rows > 0
               ? fmt::format("; {} of {} predicted not to fit", f.failed_predicted_not_to_fit,
                             counted(f.failed_rows, "run that failed is", "runs that failed are"))
               : ""));
  table.rows.push_back(std::move(row));
  return table;
}

Table plans_table(const std::vector<app::PlannedGroup>& groups) {
  Table table{.name = "plans",
              .title = "What the planner would have chosen",
              .columns = {{"set", "set"},
                          {"model", "model"},
                          {"device", "device", Unit::kNone, false, false, 1},
                          {"gpus", "gpus"},
                          {"global_batch", "batch"},
                          {"precision", "precision", Unit::kNone, false, false, 2},
                          {"stack", "stack", Unit::kNone, false, false, 2},
                          {"runs", "runs"},
                          {"measured_s", "fastest measured", Unit::kSeconds},
                          {"measured_predicted_s", "predicted", Unit::kSeconds},
                          {"planned_s", "planned", Unit::kSeconds},
                          {"gain", "gain", Unit::kShare},
                          {"measured_degrees", "measured plan", Unit::kNone, false, true, 1},
                          {"planned_degrees", "chosen plan", Unit::kNone, false, true}}};
  int held = 0;
  double gain = 0;
  for (const app::PlannedGroup& g : groups) {
    held += g.holds() ? 1 : 0;
    gain += g.gain;
    table.rows.push_back({g.set, g.model, g.device, g.gpus, g.global_batch, g.precision, g.stack,
                          g.runs, g.fastest_measured, g.fastest_predicted, g.planned_step, g.gain,
                          degrees_text(g.fastest), degrees_text(g.planned)});
  }
  if (!groups.empty())
    table.notes.push_back(fmt::format(
        "in {} of {} the chosen plan is predicted to be no slower than any measured plan that "
        "fits; its mean predicted gain over the fastest measured plan is {:.1f} %",
        held, counted(groups.size(), "group"), 100 * gain / static_cast<double>(groups.size())));
  return table;
}

std::string json_text(const app::ValidateAnswer& answer, bool with_rows) {
  const Validation& v = answer.validation;
  Json json;
  json["rows"] = v.rows;
  json["used"] = v.used;
  json["skipped"] = v.skipped;
  json["intervals"] = json_of(v.intervals);
  if (answer.left_out)
    json["left_out"] = {{"groups", answer.left_out->groups},
                        {"folds", answer.left_out->libraries.size()}};
  json["derived"] = v.derived;
  json["mean_abs_error"] = v.overall.mean_abs_error;
  json["median_abs_error"] = v.overall.median_abs_error;
  json["bias"] = v.overall.bias;
  json["mean_log_error"] = v.overall.mean_log_error;
  Json sets = Json::object();
  for (const auto& [name, set] : v.sets) {
    sets[name] = json_of(set.errors);
    sets[name]["intervals"] = json_of(set.intervals);
    sets[name]["null_mean_abs_error"] = set.null_mean_abs_error;
    sets[name]["all_mean_abs_error"] = set.all_mean_abs_error;
    sets[name]["all_median_abs_error"] = set.all_median_abs_error;
  }
  for (const auto& [name, summary] : v.assumed) sets[name]["assumed"] = json_of(summary);
  json["sets"] = sets;
  Json suspect = Json::object();
  for (const auto& [name, summary] : v.suspect) suspect[name] = json_of(summary);
  json["suspect"] = suspect;
  json["ranking"] = {{"groups", v.ranking.groups},
                     {"mean_regret", v.ranking.mean_regret},
                     {"median_regret", v.ranking.median_regret},
                     {"kendall_tau", v.ranking.kendall_tau}};
  json["memory"] = {{"rows", v.memory.rows},
                    {"mean_abs_error", v.memory.mean_abs_error},
                    {"median_abs_error", v.memory.median_abs_error},
                    {"intervals", json_of(v.memory.intervals)}};
  json["feasibility"] = {
      {"ran_rows", v.feasibility.ran_rows},
      {"ran_predicted_to_fit", v.feasibility.ran_predicted_to_fit},
      {"failed_rows", v.feasibility.failed_rows},
      {"failed_predicted_not_to_fit", v.feasibility.failed_predicted_not_to_fit}};
  if (with_rows)
    json["results"] = Json::parse(render_json({.tables = {rows_table(answer)}}))["results"];
  return json.dump(2);
}

// Runs, collectives, iterations or pipelines: one of them.
void check_inputs(const app::ValidateRequest& runs, const app::ValidateNetworkRequest& network,
                  const std::string& pipelines) {
  const int given = !runs.files.empty() + !network.collectives.empty() +
                    !network.iterations.empty() + !pipelines.empty();
  if (given == 0)
    throw_input_error("cli.missing-argument", "RUNS.csv is missing: a table of runs is required",
                      {}, "nereus validate RUNS.csv..., or --collectives FILE.csv");
  if (given > 1)
    throw_input_error("cli.conflict",
                      "runs, --collectives, --iterations and --pipelines cannot be combined", {},
                      "use one call for each");
  if ((!runs.files.empty() || !pipelines.empty()) && network.astra_sim)
    throw_input_error("cli.conflict", "--compat astra-sim does not work with runs or pipelines", {},
                      "--collectives FILE.csv or --iterations FILE.csv");
}

}  // namespace

Verb validate_verb(Caller& caller) {
  struct Request {
    app::ValidateRequest validate;
    bool rows = false;
    bool plans = false;
    bool left_out = false;
    bool left_out_sources = false;
    std::string errors;
    app::ValidateNetworkRequest network;
    std::string pipelines;
    OutputOptions output;
  };
  auto request = std::make_shared<Request>();
  auto command = std::make_unique<Command>("validate", "compare predictions with measured runs");
  command->optional_arguments("RUNS.csv", request->validate.files,
                              "tables of runs, with the columns of data/published/runs.csv");
  command->flag("--rows", request->rows, "also show every row with predicted and measured times");
  command->flag("--plans", request->plans,
                "also show what the planner would have chosen for every model, machine and batch");
  command->flag("--left-out", request->left_out,
                "predict every row by a fit to the other rows that has not seen its model on that "
                "kind of device in that precision");
  command->flag("--left-out-sources", request->left_out_sources,
                "the same by fits that have not seen the row's whole set");
  command->text("--errors", "FILE.csv", request->errors,
                "with --left-out: also leave out whole sets, and write the errors by kind of run, "
                "from which predictions get their intervals");
  command->text("--stack", "NAME|FILE", request->validate.stack,
                "predict every row with this stack, or with a file written by calibrate");
  command->text(
      "--collectives", "FILE.csv", request->network.collectives,
      "compare times of collectives instead of runs, either measured (columns gpu, gpus, bytes, "
      "collective, measured_ns) or simulated (columns of "
      "data/collectives/astrasim_collectives.csv)");
  command->text(
      "--iterations", "FILE.csv", request->network.iterations,
      "compare whole iterations simulated by ASTRA-sim instead of runs, with the columns of "
      "data/collectives/astrasim_training.csv");
  command->text(
      "--pipelines", "FILE.csv", request->pipelines,
      "compare mini-batches timed by Varuna's simulator instead of runs, with the columns "
      "of data/varuna/simulator_runs.csv");
  command->choice("--compat", {{"astra-sim", [request] { request->network.astra_sim = true; }}},
                  "predict collectives and iterations as another simulator does");
  add_output_options(*command, request->output);
  command->about(
      "The error is |predicted - measured| / measured step time. Suspect rows are scored "
      "separately. What a row leaves blank is filled in as plan would, and counted by column; rows "
      "that cannot be predicted all the same are skipped and counted by reason. "
      "Failed runs count for feasibility only.");
  command->example("nereus validate data/published/runs.csv data/published/failed.csv",
                   "the runs that come with this project");
  command->example("nereus validate mine.csv --rows --format csv", "every row, for a spreadsheet");
  command->example("nereus validate data/published/runs.csv data/published/failed.csv --left-out",
                   "the errors to expect of what the fit has not seen");
  command->example(
      "nereus validate --collectives data/collectives/astrasim_collectives.csv --compat astra-sim",
      "ASTRA-sim's formulas against ASTRA-sim, to the nanosecond");
  command->run = [&caller, request] {
    const bool network =
        !request->network.collectives.empty() || !request->network.iterations.empty();
    check_inputs(request->validate, request->network, request->pipelines);
    if (!request->pipelines.empty()) {
      caller.answer(pipelines_report(app::validate_pipelines(request->pipelines), request->rows,
                                     request->output.format == Format::kCsv),
                    request->output);
      return kDone;
    }
    if (network) {
      caller.answer(network_report(app::validate_network(request->network), request->rows,
                                   request->output.format == Format::kCsv),
                    request->output);
      return kDone;
    }
    if (request->left_out && request->left_out_sources)
      throw_input_error("cli.conflict", "--left-out and --left-out-sources cannot be combined", {},
                        "use one call for each");
    if (!request->errors.empty() && !request->left_out)
      throw_input_error("cli.conflict", "--errors needs --left-out", {},
                        "nereus validate RUNS.csv... --left-out --errors FILE.csv");
    request->validate.error_table = !request->errors.empty();
    if (request->left_out) request->validate.left_out = calibrate::LeftOutBy::kGroups;
    if (request->left_out_sources) request->validate.left_out = calibrate::LeftOutBy::kSources;
    const app::ValidateAnswer answer = app::validate(request->validate, caller.progress());
    if (!request->errors.empty()) write_file(request->errors, answer.error_table);
    Report report{.tables = {sets_table(answer), overall_table(answer.validation)}};
    if (request->rows) report.tables.push_back(rows_table(answer));
    if (request->rows && request->output.format == Format::kCsv)
      report.tables = {rows_table(answer)};
    report.json = json_text(answer, request->rows);
    if (request->plans) {
      const Table plans =
          plans_table(app::plan_groups(*answer.table, answer.library, caller.progress()));
      if (request->output.format == Format::kCsv)
        report.tables = {plans};
      else
        report.tables.push_back(plans);
      Json json = Json::parse(report.json);
      json["plans"] = Json::parse(render_json({.tables = {plans}}))["plans"];
      report.json = json.dump(2);
    }
    caller.answer(report, request->output);
    return kDone;
  };
  return command;
}

}  // namespace nereus::api
