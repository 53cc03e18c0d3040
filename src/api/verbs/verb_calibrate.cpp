#include <fmt/format.h>

#include <filesystem>

#include "api/form/exit_codes.hpp"
#include "api/form/json.hpp"
#include "api/verbs/verbs.hpp"
#include "app/validate/calibrate.hpp"
#include "base/write_file.hpp"

namespace nereus::api {

namespace {

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
  for (const auto& [name, parent] : answer.new_stacks)
    table.notes.push_back(fmt::format(
        "{} is a new stack: it inherits from {}, which predicts its runs best", name, parent));
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
  json["new_stacks"] = answer.new_stacks;
  return json.dump(2);
}

}  // namespace

Verb calibrate_verb(Caller& caller) {
  struct Request {
    app::CalibrateRequest calibrate;
    std::optional<int> folds;
    std::string file;
    OutputOptions output;
  };
  auto request = std::make_shared<Request>();
  auto command =
      std::make_unique<Command>("calibrate", "fit the cost model's parameters to measured runs");
  command->arguments("RUNS.csv", request->calibrate.files,
                     "tables of runs, with the columns of data/published/runs.csv");
  command->text("-o,--output", "FILE", request->file,
                "write the parameters to FILE, which every verb accepts as --stack FILE");
  command->text("--as", "NAME", request->calibrate.as,
                "treat every row as a run of a new stack with this name");
  command->whole("--folds", request->folds, 0,
                 "folds of cross-validation by model (default: 5; 0 = none)");
  command->flag("--from-priors", request->calibrate.from_priors,
                "start from data sheets instead of the built-in fit (the built-in fit was made "
                "this way)");
  add_output_options(*command, request->output, false);
  command->about(
      "Fits the parameters by maximum a posteriori with a robust loss. Every parameter stays "
      "within its physical range and is shown with its interval and the number of runs behind it. "
      "Rows of an unknown stack make a new stack, for which only a few parameters are fitted, so "
      "a few rows are enough.");
  command->example("nereus calibrate mine.csv -o mine.toml",
                   "fit your runs; then: nereus predict --stack mine.toml ...");
  command->example(
      "nereus calibrate data/published/runs.csv data/published/failed.csv --from-priors",
      "how the built-in parameters were fitted");
  command->run = [&caller, request] {
    if (request->folds) request->calibrate.folds = *request->folds;
    for (const std::string& input : request->calibrate.files) {
      std::error_code ignored;
      if (!request->file.empty() && std::filesystem::equivalent(input, request->file, ignored))
        throw_input_error("cli.output-is-input", "-o would overwrite a table of runs", {input},
                          "give -o another name");
    }
    app::CalibrateAnswer answer;
    { answer = app::calibrate(request->calibrate, caller.progress()); }
    if (!request->file.empty()) write_file(request->file, answer.file_text);
    caller.answer(
        {.tables = {parameters_table(answer), errors_table(answer)}, .json = json_text(answer)},
        request->output);
    return kDone;
  };
  return command;
}

}  // namespace nereus::api
