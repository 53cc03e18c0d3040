#include <fmt/format.h>

#include <filesystem>

#include "api/form/exit_codes.hpp"
#include "api/form/json.hpp"
#include "api/verbs/verbs.hpp"
#include "app/validate/calibrate.hpp"
#include "base/write_file.hpp"

namespace nereus::api {

namespace {

// What was read from logs; no table without logs.
Table logs_table(const app::CalibrateAnswer& answer) {
  Table table{.name = "logs",
              .title = "Runs read from logs",
              .columns = {{"file", "file"},
                          {"trainer", "trainer"},
                          {"devices", "devices"},
                          {"device", "of"},
                          {"step_s", "step", Unit::kSeconds},
                          {"reports", "reports of steps"},
                          {"dropped", "warm-up dropped"},
                          {"memory_bytes", "memory", Unit::kBytes}}};
  for (const app::LogSummary& log : answer.logs) {
    table.rows.push_back({log.file, log.trainer, log.devices, log.device, log.step, log.used,
                          log.dropped, log.memory > 0 ? Cell{log.memory} : Cell{}});
    if (log.is_mean)
      table.notes.push_back(fmt::format(
          "{} reports only the mean of its steps, which includes the warm-up", log.file));
    for (const std::string& assumed : log.assumed)
      table.notes.push_back(fmt::format("{}: assumed {}", log.file, assumed));
  }
  table.notes.push_back("a step is the median of its reports after the warm-up");
  return table;
}

Table parameters_table(const app::CalibrateAnswer& answer) {
  Table table{.name = "parameters",
              .title = "Fitted parameters",
              .columns = {{"scope", "of"},
                          {"name", "number"},
                          {"value", "value"},
                          {"low", "low"},
                          {"high", "high"},
                          {"unit", "unit"},
                          {"least", "least", Unit::kNone, false, false, 2},
                          {"most", "most", Unit::kNone, false, false, 2},
                          {"rows", "runs"},
                          {"note", "note"}}};
  for (const calibrate::FittedNumber& n : answer.parameters) {
    const cost::ParameterInfo* info = cost::find_parameter(n.number.parameter);
    const auto digits = [](double value) { return Cell{fmt::format("{:.4g}", value)}; };
    table.rows.push_back({to_string(n.number.scope), n.number.parameter, digits(n.value),
                          digits(n.low), digits(n.high),
                          info->unit.empty() ? Cell{} : Cell{std::string(info->unit)},
                          digits(info->low), digits(info->high), n.rows,
                          !n.fitted    ? Cell{"unchanged: too few runs"}
                          : n.at_bound ? Cell{"at its limit"}
                                       : Cell{}});
  }
  table.notes.push_back(
      "low and high are two standard deviations away; least and most are the physical limits");
  return table;
}

// What a new stack is built on, and whether its fitted numbers are better than its parent's.
std::vector<std::string> notes_of(const app::NewStackAnswer& made) {
  std::vector<std::string> notes;
  notes.push_back(
      fmt::format("{} is a new stack: it inherits from {}, {}", made.name, made.parent,
                  made.parent_by_name ? "which its name says" : "which predicts its runs best"));
  const auto judged = [&](const char* what, const calibrate::StackTrial& out) {
    if (out.folds == 0) return;
    notes.push_back(fmt::format(
        "{}: mean error of runs left out {:.1f} %, with {}'s numbers {:.1f} %: {}", what,
        100 * out.calibrated, made.parent, 100 * out.parent,
        out.kept ? "the fitted numbers are kept" : "no fit is clearly better, so those are kept"));
  };
  judged("step time", made.time);
  judged("memory", made.memory);
  if (made.time.folds == 0)
    notes.push_back(fmt::format(
        "one run cannot be left out and predicted from others, so {}'s numbers are kept: give "
        "several runs that differ",
        made.parent));
  return notes;
}

Table errors_table(const app::CalibrateAnswer& answer) {
  Table table{.name = "errors",
              .title = "Error of the step time",
              .columns = {{"set", "set"},
                          {"used", "runs"},
                          {"mean", "fit, mean", Unit::kShare},
                          {"median", "median", Unit::kShare},
                          {"held_out_mean", "held-out models, mean", Unit::kShare},
                          {"held_out_median", "median", Unit::kShare}}};
  for (const auto& [set, fit] : answer.fit_error) {
    const auto held = answer.cross_validated_error.find(set);
    const bool known = held != answer.cross_validated_error.end();
    table.rows.push_back({set, fit.used, fit.mean_abs_error, fit.median_abs_error,
                          known ? Cell{held->second.mean_abs_error} : Cell{},
                          known ? Cell{held->second.median_abs_error} : Cell{}});
  }
  for (const app::NewStackAnswer& made : answer.new_stacks)
    for (std::string& note : notes_of(made)) table.notes.push_back(std::move(note));
  if (answer.stopped)
    table.notes.push_back(
        "interrupted: known stacks have their numbers so far, new ones those of their parent");
  return table;
}

std::string json_text(const app::CalibrateAnswer& answer) {
  Json json;
  json["rows"] = answer.rows;
  json["used"] = answer.used;
  json["parameters"] = Json::array();
  for (const calibrate::FittedNumber& n : answer.parameters) {
    const cost::ParameterInfo* info = cost::find_parameter(n.number.parameter);
    json["parameters"].push_back({{"name", to_string(n.number.scope) + "." + n.number.parameter},
                                  {"value", n.value},
                                  {"low", n.low},
                                  {"high", n.high},
                                  {"rows", n.rows},
                                  {"unit", info->unit},
                                  {"physical_low", info->low},
                                  {"physical_high", info->high},
                                  {"fitted", n.fitted},
                                  {"at_bound", n.at_bound}});
  }
  const auto errors = [](const std::map<std::string, calibrate::ErrorSummary>& sets) {
    Json out = Json::object();
    for (const auto& [set, e] : sets)
      out[set] = {{"used", e.used},
                  {"mean_abs_error", e.mean_abs_error},
                  {"median_abs_error", e.median_abs_error}};
    return out;
  };
  json["fit_error"] = errors(answer.fit_error);
  json["cross_validated_error"] = errors(answer.cross_validated_error);
  const auto left_out = [](const calibrate::StackTrial& out) -> Json {
    if (out.folds == 0) return nullptr;
    return {{"rows", out.rows},
            {"folds", out.folds},
            {"parent_mean_abs_error", out.parent},
            {"mean_abs_error", out.calibrated},
            {"kept", out.kept}};
  };
  json["new_stacks"] = Json::object();
  json["left_out"] = Json::object();
  json["parent"] = nullptr;
  json["kept"] = true;
  for (const app::NewStackAnswer& made : answer.new_stacks) {
    json["new_stacks"][made.name] = made.parent;
    json["left_out"][made.name] = {{"time", left_out(made.time)},
                                   {"memory", left_out(made.memory)}};
    if (json["parent"].is_null()) json["parent"] = made.parent;
    if (!made.kept) json["kept"] = false;
  }
  json["stopped"] = answer.stopped;
  json["logs"] = Json::array();
  for (const app::LogSummary& log : answer.logs)
    json["logs"].push_back({{"file", log.file},
                            {"trainer", log.trainer},
                            {"stack", log.stack},
                            {"devices", log.devices},
                            {"device", log.device},
                            {"step_s", log.step},
                            {"reports", log.used},
                            {"dropped", log.dropped},
                            {"is_mean", log.is_mean},
                            {"memory_bytes", log.memory > 0 ? Json(log.memory) : Json()},
                            {"assumed", log.assumed}});
  return json.dump(2);
}

}  // namespace

Verb calibrate_verb(Caller& caller) {
  struct Request {
    app::CalibrateRequest calibrate;
    std::optional<int> folds;
    std::optional<int> seq;
    std::optional<int> gpus;
    std::string file;
    OutputOptions output;
  };
  auto request = std::make_shared<Request>();
  auto command =
      std::make_unique<Command>("calibrate", "fit the cost model's parameters to measured runs");
  command->arguments("RUNS.csv|LOG", request->calibrate.files,
                     "tables of runs, with the columns of data/published/runs.csv, or logs of "
                     "Megatron-LM, DeepSpeed, torchtitan, NeMo or Hugging Face trainers");
  command->text("-o,--output", "FILE", request->file,
                "write the parameters to FILE, which every verb accepts as --stack FILE");
  command->text("--as", "NAME", request->calibrate.as,
                "treat every row as a run of a new stack with this name");
  command->whole("--folds", request->folds, 0,
                 "folds of cross-validation by model (default: 5; 0 = none)");
  command->flag("--from-priors", request->calibrate.from_priors,
                "start from data sheets instead of the built-in fit (the built-in fit was made "
                "this way)");
  command->group("What logs leave out");
  command->texts("--launch", "FILE", request->calibrate.logs.launch,
                 "launch script or configuration, as for import, where a log does not print it");
  command->text("--model", "NAME|FILE", request->calibrate.logs.model,
                "model: a name, or a file such as config.json");
  command->whole("--seq", request->seq, 1, "tokens per sample");
  command->text("--gpu", "NAME", request->calibrate.logs.gpu, "device, such as h100");
  command->text("--node", "NAME", request->calibrate.logs.node,
                "machine (default: the usual one with that device)");
  command->whole("--gpus", request->gpus, 1, "number of devices");
  add_output_options(*command, request->output, false);
  command->about(
      "Fits the parameters by maximum a posteriori with a robust loss. Every parameter stays "
      "within its physical range and is shown with its interval and the number of runs behind it. "
      "Rows of an unknown stack make a new stack. It starts from the known stack that its name or "
      "its runs point at, and keeps that one's numbers unless fitted ones predict runs better that "
      "were left out of the fit. So a dozen runs are enough, and they cannot make things worse.");
  command->example("nereus calibrate mine.csv -o mine.toml",
                   "fit your runs; then: nereus predict --stack mine.toml ...");
  command->example("nereus calibrate run1.log run2.log run3.log --gpu h100 -o mine.toml",
                   "the same from what a trainer printed");
  command->example(
      "nereus calibrate data/published/runs.csv data/published/failed.csv --from-priors",
      "how the built-in parameters were fitted");
  command->run = [&caller, request] {
    if (request->folds) request->calibrate.folds = *request->folds;
    if (request->seq) request->calibrate.logs.seq = *request->seq;
    request->calibrate.stop = caller.stop();
    if (request->gpus) request->calibrate.logs.gpus = *request->gpus;
    for (const std::string& input : request->calibrate.files) {
      std::error_code ignored;
      if (!request->file.empty() && std::filesystem::equivalent(input, request->file, ignored))
        throw_input_error("cli.output-is-input", "-o would overwrite a table of runs", {input},
                          "give -o another name");
    }
    app::CalibrateAnswer answer;
    { answer = app::calibrate(request->calibrate, caller.progress()); }
    if (!request->file.empty()) write_file(request->file, answer.file_text);
    Report report{.tables = {parameters_table(answer), errors_table(answer)},
                  .json = json_text(answer)};
    if (!answer.logs.empty()) report.tables.push_back(logs_table(answer));
    caller.answer(report, request->output);
    return answer.stopped ? kStoppedEarly : kDone;
  };
  return command;
}

}  // namespace nereus::api
