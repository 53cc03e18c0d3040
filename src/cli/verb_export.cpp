#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/export.hpp"
#include "cli/cli.hpp"
#include "cli/verbs.hpp"

namespace nereus::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string json_of(const app::ExportAnswer& answer) {
  Json json;
  json["engine"] = exporting::to_string(answer.engine);
  if (!answer.directory.empty()) json["directory"] = answer.directory;
  Json files = Json::object();
  for (const exporting::TextFile& file : answer.files) files[file.name] = file.text;
  json["files"] = files;
  if (!answer.warning.empty()) json["note"] = answer.warning;
  return json.dump(2) + "\n";
}

// All files under heading lines; where they were written, their names alone.
std::string text_of(const app::ExportAnswer& answer) {
  std::string text;
  for (const exporting::TextFile& file : answer.files) {
    if (answer.directory.empty())
      text += fmt::format("{}==> {} <==\n{}", text.empty() ? "" : "\n", file.name, file.text);
    else
      text += fmt::format("{}/{}\n", answer.directory, file.name);
  }
  return text;
}

}  // namespace

Verb export_verb(const Session&) {
  struct Request {
    app::ExportRequest export_request;
    bool engine_given = false;
    bool json = false;
  };
  auto request = std::make_shared<Request>();
  auto command = std::make_unique<Command>(
      "export", "the command line or configuration that runs a plan on another engine");
  command->argument("PLAN", request->export_request.plan_file, "a plan file");
  command->group("Output");
  std::vector<Choice> engines;
  for (const std::string& name : exporting::engine_names())
    engines.push_back({name, [request, name] {
                         request->export_request.engine = *exporting::parse_engine(name);
                         request->engine_given = true;
                       }});
  command->choice("--to", std::move(engines), "the engine (needed)");
  command->text("-o,--output", "DIR", request->export_request.directory,
                "write the files into DIR instead of stdout");
  command->choice("--format",
                  {{"text", [request] { request->json = false; }},
                   {"json", [request] { request->json = true; }}},
                  "how files are shown (default: text)");
  command->about(
      "Writes what the engine reads, a launch script for torchrun (or accelerate) and a Slurm "
      "script. What the engine cannot express is an error that says so: nothing is left out "
      "silently, and what is written is read back and compared before it is shown.");
  command->example("nereus export best.plan --to megatron -o run",
                   "run/launch.sh with the flags of pretrain_gpt.py, run/job.slurm");
  command->example("nereus export best.plan --to torchtitan", "train.toml and its launch script");
  command->run = [request] {
    if (!request->engine_given)
      throw_input_error("cli.missing-option", "--to is needed: the engine to write for", {},
                        fmt::format("{}", fmt::join(exporting::engine_names(), ", ")));
    const app::ExportAnswer answer = app::export_plan(request->export_request);
    if (!answer.warning.empty()) fmt::print(stderr, "note: {}\n", answer.warning);
    write_stdout(request->json ? json_of(answer) : text_of(answer));
    return kDone;
  };
  return command;
}

}  // namespace nereus::cli
