#include <fmt/format.h>

#include "api/form/exit_codes.hpp"
#include "api/form/json.hpp"
#include "api/reports/prediction_report.hpp"
#include "api/reports/profile_report.hpp"
#include "api/verbs/verbs.hpp"
#include "app/exchange/import_plan.hpp"
#include "app/exchange/import_profile.hpp"
#include "base/error.hpp"
#include "base/format.hpp"
#include "plan/plan_json.hpp"

namespace nereus::api {

namespace {

constexpr std::size_t kMostShown = 8;  // in the table; JSON has all

std::string note_text(const exporting::Note& note) {
  return note.line > 0 ? fmt::format("{} (line {})", note.text, note.line) : note.text;
}

// "drop --recompute-method uniform; add --sequence-parallel".
std::string how_text(const std::vector<std::string>& lines) {
  std::string text;
  for (const char sign : {'-', '+'}) {
    std::string list;
    for (const std::string& line : lines)
      if (line.front() == sign) list += (list.empty() ? "" : ", ") + line.substr(2);
    if (list.empty()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", sign == '-' ? "drop" : "add", list);
  }
  return text;
}

Table notes_table(const char* name, const char* title, const std::vector<exporting::Note>& notes) {
  Table table{.name = name, .title = title, .columns = {{"what", "what"}, {"line", "line"}}};
  table.columns[0].wrap = true;
  for (const exporting::Note& note : notes)
    table.rows.push_back({note.text, note.line > 0 ? Cell{note.line} : Cell{}});
  return table;
}

Table changes_table(const app::ImportAnswer& answer) {
  const bool fits = answer.prediction.prediction.fits;
  Table table{.name = "changes",
              .title = fits ? "Changes and their gain"
                            : "The plan does not fit in memory; these changes make it fit",
              .columns = {{"change", "change"},
                          {"step_s", "step", Unit::kSeconds},
                          {"gain", "gain", Unit::kShare},
                          {"worst_rank_bytes", "memory", Unit::kBytes},
                          {"how", "in the file"}}};
  table.columns[0].wrap = table.columns[4].wrap = true;
  table.columns[4].rank = 1;
  for (const app::Change& change : answer.changes) {
    if (table.rows.size() == kMostShown) break;
    table.rows.push_back(
        {change.what, change.step, change.gain, change.memory, how_text(change.lines)});
  }
  if (answer.changes.empty())
    table.notes.push_back(fits ? "No single change that the engine can express makes the plan "
                                 "faster."
                               : "No single change makes the plan fit.");
  else
    table.notes.push_back("Each row makes one change. Batch, model and precision stay the same.");
  return table;
}

Table best_table(const app::Change& best) {
  Table table{.name = "best", .title = "The best plan that this engine can run", .record = true};
  table.columns = {{"degrees", "plan", Unit::kNone, false, true},
                   {"step_s", "step", Unit::kSeconds},
                   {"gain", "gain", Unit::kShare},
                   {"memory_bytes", "memory", Unit::kBytes},
                   {"how", "how", Unit::kNone, false, true}};
  table.rows.push_back(
      {degrees_text(best.degrees), best.step, best.gain, best.memory, how_text(best.lines)});
  return table;
}

std::string import_json(const app::ImportAnswer& answer) {
  Json json;
  json["engine"] = exporting::to_string(answer.engine);
  json["file"] = answer.file;
  const auto notes = [](const std::vector<exporting::Note>& list) {
    Json array = Json::array();
    for (const exporting::Note& note : list)
      array.push_back({{"what", note.text}, {"line", note.line}});
    return array;
  };
  json["assumed"] = notes(answer.assumed);
  json["not_counted"] = notes(answer.not_counted);
  json["not_understood"] = notes(answer.not_understood);
  json["prediction"] = Json::parse(prediction_json(answer.prediction));
  const auto change_json = [](const app::Change& change) {
    return Json{{"change", change.what},
                {"step_s", change.step},
                {"gain", change.gain},
                {"worst_rank_bytes", change.memory},
                {"degrees", Json::parse(spec::to_json(plan::degrees_to_value(change.degrees)))},
                {"lines", change.lines}};
  };
  Json changes = Json::array();
  for (const app::Change& change : answer.changes) changes.push_back(change_json(change));
  json["changes"] = changes;
  if (answer.best) json["best"] = change_json(*answer.best);
  return json.dump(2);
}

Report import_report(const app::ImportAnswer& answer) {
  Table summary = prediction_summary(answer.prediction);
  summary.columns.insert(summary.columns.begin(), {"file", "file"});
  summary.rows[0].insert(summary.rows[0].begin(),
                         fmt::format("{}, for {}", answer.file, exporting::title(answer.engine)));
  for (const exporting::Note& note : answer.assumed)
    summary.notes.push_back("assumed: " + note_text(note));
  Report report{.tables = {summary}, .json = import_json(answer)};
  if (!answer.not_counted.empty())
    report.tables.push_back(notes_table("not_counted", "Affects time or memory but is not modelled",
                                        answer.not_counted));
  if (!answer.not_understood.empty())
    report.tables.push_back(
        notes_table("not_understood", "Not understood and ignored", answer.not_understood));
  report.tables.push_back(changes_table(answer));
  if (answer.best) report.tables.push_back(best_table(*answer.best));
  return report;
}

}  // namespace

Verb import_verb(Caller& caller) {
  struct Request {
    app::ImportRequest import_request;
    std::vector<std::string> files;
    OutputOptions output;
  };
  auto request = std::make_shared<Request>();
  auto command = std::make_unique<Command>(
      "import", "read a launch script or configuration as a plan, predict it and suggest changes");
  app::ImportRequest& wanted = request->import_request;
  command->arguments(
      "FILE", request->files,
      "a Megatron-LM launch script, DeepSpeed JSON, torchtitan TOML, accelerate YAML, or a "
      "directory that nereus export wrote; or one or more files with layer times measured by "
      "Sailor, Cephalo or Zorse");
  add_model_options(*command, wanted.model);
  add_cluster_options(*command, wanted.cluster);
  add_set_option(*command, &wanted.model, &wanted.cluster);
  add_calibration_options(*command, wanted.calibration);
  add_output_options(*command, request->output, false);
  command->text("-o,--output", "FILE", wanted.plan_file,
                "write the plan to FILE, for nereus predict and nereus export; or write the "
                "profile, for --profile");
  command->about(
      "--cluster names the machines, unless nereus export wrote the file. A DeepSpeed or "
      "accelerate file does not name the model, so --model is needed. The output lists what is "
      "assumed, what is not modeled and what is not understood. The script itself is never run. "
      "Files with measured layer times are recognized by their form and become one profile for "
      "--profile. Files llm_info.json and model_stats.json, if given, describe the layers.");
  command->example("nereus import pretrain.sh --cluster 16xdgx-h100",
                   "a Megatron-LM launch script");
  command->example(
      "nereus import ds_config.json --model config.json --cluster 2xp4d.24xlarge -o mine.plan",
      "a DeepSpeed configuration, saved as a plan");
  command->example("nereus import OPT-350/*/profile.json llm_info.json -o opt-350m.json",
                   "turn Sailor's measured layer times into a profile");
  command->run = [&caller, request] {
    if (app::are_profiles(request->files)) {
      const app::ImportedProfile imported =
          app::import_profile(request->files, request->import_request.plan_file);
      caller.answer(profile_report(imported), request->output);
      return kDone;
    }
    if (request->files.size() > 1)
      throw_input_error(
          "import.several",
          fmt::format("none of the {} files is a profile of layers", request->files.size()),
          {request->files[1]}, "give one launch script or configuration at a time");
    request->import_request.path = request->files.front();
    const app::ImportAnswer answer = app::import_plan(request->import_request);
    Report report = import_report(answer);
    if (request->output.format == Format::kCsv) report.tables = {changes_table(answer)};
    caller.answer(report, request->output);
    return kDone;
  };
  return command;
}

}  // namespace nereus::api
