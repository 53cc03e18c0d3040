#include <fmt/format.h>

#include "api/form/exit_codes.hpp"
#include "api/form/json.hpp"
#include "api/verbs/lists.hpp"
#include "api/verbs/verbs.hpp"
#include "app/exchange/export_chakra.hpp"
#include "app/exchange/export_checkpoint.hpp"
#include "app/exchange/export_plan.hpp"
#include "base/format.hpp"

namespace nereus::api {

namespace {

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

// All files under heading lines; if they were written to disk, only their names.
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

// "0-7" as well as the lists of every other verb ("0..7", "0,8").
void take_ranks(const std::string& text, std::vector<int>& ranks, ErrorList& errors) {
  const std::size_t dash = text.find('-', 1);
  std::string list = text;
  if (dash != std::string::npos) list.replace(dash, 1, "..");
  ranks = parse_whole_list("--ranks", list, 0, errors);
}

std::string json_of(const app::ChakraAnswer& answer) {
  return Json{{"engine", "chakra"},           {"directory", answer.directory},
              {"workload", answer.prefix},    {"ranks", answer.num_ranks},
              {"files", answer.ranks.size()}, {"nodes", answer.num_nodes},
              {"bytes", answer.num_bytes}}
             .dump(2) +
         "\n";
}

int export_chakra(const app::ChakraRequest& request, const OutputOptions& output, Caller& caller) {
  if (request.directory.empty())
    throw_input_error("cli.missing-option",
                      "-o is missing: traces are written as one file per "
                      "rank",
                      {}, "-o DIR");
  const app::ChakraAnswer answer = app::export_chakra(request, [&](const app::ChakraAnswer& sized) {
    caller.note(fmt::format("{} of {} nodes, {} in all", counted(sized.ranks.size(), "trace"),
                            format_count(sized.num_nodes),
                            format_bytes(Bytes{static_cast<double>(sized.num_bytes)})));
  });
  caller.answer(
      {.json = json_of(answer),
       .text = fmt::format("{0}/{1}.RANK.et, {2} of {3}\n{0}/comm_groups.json\n", answer.directory,
                           answer.prefix, answer.ranks.size(), counted(answer.num_ranks, "rank"))},
      output);
  return kDone;
}

std::string json_of(const app::CheckpointExport& answer) {
  Json files = Json::object();
  for (const checkpoint::JoinedFile& file : answer.files) files[file.name] = file.size;
  return Json{{"engine", "huggingface"},
              {"directory", answer.directory},
              {"checkpoint", answer.checkpoint},
              {"step", answer.step},
              {"parameters", answer.parameters},
              {"torch_dtype", answer.torch_dtype},
              {"files", files}}
             .dump(2) +
         "\n";
}

int export_to_hub(const app::CheckpointExportRequest& request, const OutputOptions& output,
                  Caller& caller) {
  if (request.directory.empty())
    throw_input_error("cli.missing-option", "-o is missing: weights are binary files", {},
                      "-o DIR");
  const app::CheckpointExport answer = app::export_checkpoint(request);
  std::string text;
  for (const checkpoint::JoinedFile& file : answer.files)
    text += fmt::format("{}/{}\n", answer.directory, file.name);
  caller.note(fmt::format("step {} of {}, {} parameters in {}", answer.step, answer.checkpoint,
                          format_count(answer.parameters), answer.torch_dtype));
  caller.answer({.json = json_of(answer), .text = text}, output);
  return kDone;
}

// The kinds of targets: --to, and its allowed names.
enum class Target { kNone, kEngine, kChakra, kHuggingFace };

}  // namespace

Verb export_verb(Caller& caller) {
  struct Request {
    app::ExportRequest export_request;
    app::ChakraRequest chakra;
    Target target = Target::kNone;
    OutputOptions output;
  };
  auto request = std::make_shared<Request>();
  auto command = std::make_unique<Command>(
      "export", "write the command line or configuration that runs a plan on another engine");
  command->argument("PLAN", request->export_request.plan_file,
                    "a plan file; for huggingface, a checkpoint");
  command->group("Output");
  std::vector<Choice> engines;
  for (const std::string& name : exporting::engine_names())
    engines.push_back({name, [request, name] {
                         request->export_request.engine = *exporting::parse_engine(name);
                         request->target = Target::kEngine;
                       }});
  engines.push_back({"chakra", [request] { request->target = Target::kChakra; }});
  engines.push_back({"huggingface", [request] { request->target = Target::kHuggingFace; }});
  command->choice("--to", std::move(engines), "the engine (required)");
  command->text("-o,--output", "DIR", request->export_request.directory,
                "write the files into DIR instead of stdout");
  command->list(
      "--ranks",
      [request](const std::string& text, ErrorList& errors) {
        take_ranks(text, request->chakra.ranks, errors);
      },
      "chakra: write traces of these ranks only, such as 0-7");
  command->flag("--yes", request->chakra.yes, "chakra: allow more than 4 GiB of traces");
  command->choice("--format",
                  {{"text", [request] { request->output.format = Format::kTable; }},
                   {"json", [request] { request->output.format = Format::kJson; }}},
                  "how the files are printed (default: text)");
  command->of_words();
  command->about(
      "Writes the engine's configuration, a launch script for torchrun (or accelerate) and a "
      "Slurm script. If the engine cannot express some part of the plan, the export fails with an "
      "error that names it. Nothing is omitted silently, and the written files are read back and "
      "compared with the plan before they are shown. For chakra it writes one execution trace per "
      "rank, as input for simulators such as ASTRA-sim. For huggingface it writes the weights of "
      "a checkpoint (step-N, or the newest in a folder) and their config.json.");
  command->example("nereus export best.plan --to megatron -o run",
                   "run/launch.sh with the flags of pretrain_gpt.py, run/job.slurm");
  command->example("nereus export best.plan --to chakra -o et --ranks 0-7",
                   "execution traces of the first eight ranks");
  command->example("nereus export run/checkpoints --to huggingface -o model",
                   "a folder that transformers loads: config.json, model.safetensors");
  command->example("nereus export best.plan --to torchtitan", "train.toml and its launch script");
  command->run = [&caller, request]() -> int {
    const std::string& input = request->export_request.plan_file;
    const std::string& directory = request->export_request.directory;
    if (request->target == Target::kNone)
      throw_input_error(
          "cli.missing-option", "--to is missing: it names the engine to write for", {},
          fmt::format("{}, chakra, huggingface", fmt::join(exporting::engine_names(), ", ")));
    if (request->target != Target::kChakra &&
        (!request->chakra.ranks.empty() || request->chakra.yes))
      throw_input_error("export.not-here", "--ranks and --yes are for --to chakra only");
    if (request->target == Target::kHuggingFace)
      return export_to_hub({.checkpoint = input, .directory = directory}, request->output, caller);
    if (app::is_checkpoint(input))
      throw_input_error("export.not-here", fmt::format("{} is a checkpoint, not a plan", input), {},
                        "--to huggingface");
    if (request->target == Target::kChakra) {
      request->chakra.plan_file = input;
      request->chakra.directory = directory;
      return export_chakra(request->chakra, request->output, caller);
    }
    const app::ExportAnswer answer = app::export_plan(request->export_request);
    if (!answer.warning.empty()) caller.note(answer.warning);
    caller.answer({.json = json_of(answer), .text = text_of(answer)}, request->output);
    return kDone;
  };
  return command;
}

}  // namespace nereus::api
