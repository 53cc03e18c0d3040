#include "export/bundle.hpp"

#include <fmt/format.h>

#include <array>

#include "base/format.hpp"
#include "export/deepspeed.hpp"
#include "export/fsdp.hpp"
#include "export/launch_file.hpp"
#include "export/megatron.hpp"
#include "export/torchtitan.hpp"
#include "model/shape_io.hpp"
#include "plan/plan_json.hpp"
#include "plan/stages.hpp"

namespace nereus::exporting {

namespace {

struct Names {
  Engine engine;
  std::string_view word;
  std::string_view title;
};
constexpr std::array<Names, 4> kNames = {{{Engine::kMegatron, "megatron", "Megatron-LM"},
                                          {Engine::kDeepspeed, "deepspeed", "DeepSpeed"},
                                          {Engine::kTorchtitan, "torchtitan", "torchtitan"},
                                          {Engine::kFsdp, "fsdp", "accelerate with FSDP"}}};

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  for (std::string_view ending : endings)
    if (name.ends_with(ending)) return true;
  return false;
}

// Keys whose values differ, as "key: a -> b".
void differences(const spec::Value& a, const spec::Value& b, std::vector<std::string>& list) {
  const auto* table = std::get_if<spec::Table>(&a.data);
  if (table == nullptr) return;
  for (const auto& [key, value] : *table) {
    const spec::Value* other = b.find(key);
    if (other == nullptr || !(*other == value))
      list.push_back(fmt::format("{} = {} (it would be {})", key, spec::to_json(value),
                                 other == nullptr ? "missing" : spec::to_json(*other)));
  }
}

// The written files are read back: what does not return is something the engine has no words for.
void verify(const Bundle& files, const plan::Plan& plan, const RegularPlan& regular,
            const StackFacts& stack, Engine engine) {
  const Hints hints = read_hints(files);
  const Reading back = read(files, hints, {plan.cluster.num_devices(), stack, std::nullopt});
  std::vector<std::string> differ;
  differences(plan::degrees_to_value(regular.degrees),
              plan::degrees_to_value(normal(back.degrees, plan.model)), differ);
  if (!(back.model == plan.model) && plan.model.transformer && back.model.transformer) {
    differences(model::write_shape(*plan.model.transformer),
                model::write_shape(*back.model.transformer), differ);
    differences(model::write_shape(*back.model.transformer),
                model::write_shape(*plan.model.transformer), differ);
  }
  std::vector<int> blocks = back.blocks;
  if (blocks.empty()) {
    const int stages = regular.degrees.pp * regular.degrees.interleave;
    for (const plan::StageSplit& split :
         plan::stage_layers(plan.model, regular.degrees.pp, regular.degrees.interleave))
      blocks.push_back(split.num_blocks);
    blocks.resize(static_cast<std::size_t>(stages));
  }
  if (blocks != regular.blocks && regular.degrees.schedule != plan::Schedule::kDualPipe)
    differ.push_back(fmt::format("blocks of the stages {}", fmt::join(regular.blocks, ", ")));
  if (differ.empty() && back.model == plan.model) return;
  ErrorList errors;
  if (differ.empty()) differ.push_back("the model's layers");
  for (const std::string& what : differ) cannot(errors, engine, what);
  errors.throw_if_any();
}

Reading read_engine(const Bundle& files, const Hints& hints, const ReadRequest& request) {
  switch (hints.engine) {
    case Engine::kMegatron:
      return read_megatron(*find_file(files, hints.main_file), hints, request);
    case Engine::kDeepspeed:
      return read_deepspeed(files, hints, request);
    case Engine::kTorchtitan:
      return read_torchtitan(files, hints, request);
    case Engine::kFsdp:
      return read_fsdp(files, hints, request);
  }
  return {};
}

// Products of degrees are whole numbers from here on.
void check_sizes(const plan::Degrees& d, const std::string& file) {
  constexpr double kMost = 1 << 30;
  const double ranks = double(d.tp) * d.pp * d.cp * d.dp;
  const double stages = double(d.pp) * d.interleave;
  const double experts = double(d.ep) * d.expert_tp;
  const double samples = double(d.dp) * d.micro_batch;
  if (ranks <= kMost && stages <= kMost && experts <= kMost && samples <= kMost) return;
  throw_input_error(
      "import.plan",
      fmt::format("tp {} x pp {} x cp {}, {}, ep {}, micro-batch {}: no cluster is that large",
                  d.tp, d.pp, d.cp, counted(d.interleave, "virtual stage"), d.ep, d.micro_batch),
      {file});
}

}  // namespace

std::string_view to_string(Engine engine) { return kNames[static_cast<std::size_t>(engine)].word; }

std::string_view title(Engine engine) { return kNames[static_cast<std::size_t>(engine)].title; }

std::optional<Engine> parse_engine(std::string_view text) {
  for (const Names& names : kNames)
    if (names.word == text) return names.engine;
  return std::nullopt;
}

std::vector<std::string> engine_names() {
  std::vector<std::string> list;
  for (const Names& names : kNames) list.emplace_back(names.word);
  return list;
}

const TextFile* find_file(const Bundle& files, std::string_view name) {
  for (const TextFile& file : files)
    if (file.name == name) return &file;
  return nullptr;
}

Bundle write(Engine engine, const plan::Plan& plan, const StackFacts& stack) {
  const RegularPlan regular = exporting::regular(plan);
  Bundle files;
  switch (engine) {
    case Engine::kMegatron:
      files = write_megatron(plan, regular, stack);
      break;
    case Engine::kDeepspeed:
      files = write_deepspeed(plan, regular, stack);
      break;
    case Engine::kTorchtitan:
      files = write_torchtitan(plan, regular, stack);
      break;
    case Engine::kFsdp:
      files = write_fsdp(plan, regular, stack);
      break;
  }
  verify(files, plan, regular, stack, engine);
  return files;
}

Hints read_hints(const Bundle& files) {
  Hints hints;
  const TextFile* main = nullptr;
  const auto take = [&](const TextFile& file, Engine engine) {
    if (main != nullptr) return;
    main = &file;
    hints.engine = engine;
    hints.main_file = file.name;
  };
  for (const TextFile& file : files) {
    if (file.name.ends_with("config.json") && file.text.find("\"model_type\"") != std::string::npos)
      continue;
    if (ends_with_any(file.name, {".json"})) take(file, Engine::kDeepspeed);
    if (ends_with_any(file.name, {".toml"})) take(file, Engine::kTorchtitan);
    if (ends_with_any(file.name, {".yaml", ".yml"})) take(file, Engine::kFsdp);
  }
  if (main != nullptr && hints.engine == Engine::kFsdp) {
    const spec::Value value = spec::parse_yaml(main->text, main->name);
    const auto number = [&](const char* key) {
      const spec::Value* member = value.find(key);
      const auto* whole = member == nullptr ? nullptr : std::get_if<std::int64_t>(&member->data);
      return whole != nullptr && *whole > 0 && *whole <= (1 << 20) ? static_cast<int>(*whole) : 0;
    };
    hints.nodes = number("num_machines");
    if (hints.nodes > 0) hints.devices_per_node = number("num_processes") / hints.nodes;
  }
  for (const TextFile& file : files) {
    if (ends_with_any(file.name, {".json", ".toml", ".yaml", ".yml"})) continue;
    const Script script = read_script(file.text, file.name);
    const std::map<std::string, std::string> facts = read_facts(script);
    const auto fact = [&](const char* key, std::string& target) {
      const auto found = facts.find(key);
      if (found != facts.end() && target.empty()) target = found->second;
    };
    fact("cluster", hints.cluster);
    fact("stack", hints.stack);
    fact("model", hints.model_name);
    fact("family", hints.model_family);
    read_nodes(script, hints);
    if (const Command* command = find_megatron_command(script)) {
      take(file, Engine::kMegatron);
      for (const Word& word : command->words)
        if (word.text == "--deepspeed") hints.usual_stack = "megatron-deepspeed";
    }
  }
  if (main == nullptr) {
    std::vector<std::string> names;
    for (const TextFile& file : files) names.push_back(file.name);
    throw_input_error(
        "import.unknown-file",
        fmt::format(
            "{}: no Megatron-LM command, DeepSpeed JSON, torchtitan TOML or accelerate YAML",
            fmt::join(names, ", ")),
        {names.empty() ? std::string() : names.front()},
        "a launch script with the flags of pretrain_gpt.py, ds_config.json, a .toml or a .yaml");
  }
  return hints;
}

Reading read(const Bundle& files, const Hints& hints, const ReadRequest& request) {
  Reading reading = read_engine(files, hints, request);
  check_sizes(reading.degrees, hints.main_file);
  return reading;
}

}  // namespace nereus::exporting
