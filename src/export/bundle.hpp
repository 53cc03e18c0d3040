// What crosses the border between plans and the engines that run them: the files of an export, and
// what a reading of such files says.
//
//   Bundle files = write(Engine::kMegatron, plan, stack);            // launch.sh, job.slurm, ...
//   Hints hints = read_hints(files);                                  // engine, cluster, nodes
//   Reading r = read(files, hints, {.devices = 128, ...});            // degrees, model, notes
//
// Facts that an engine's files have no place for (the machines, the software description, the
// model's name) stand as comments in launch.sh: "# nereus: cluster=16xdgx-h100". They never stand
// for something that the engine would have to do and cannot: what is written is read back before it
// is handed out, and a plan that does not come back the same is an error (export.cannot-express).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"
#include "plan/placement.hpp"

namespace nereus::exporting {

enum class Engine { kMegatron, kDeepspeed, kTorchtitan, kFsdp };

std::string_view to_string(Engine engine);  // as --to takes it
std::optional<Engine> parse_engine(std::string_view text);
std::vector<std::string> engine_names();
std::string_view title(Engine engine);  // "Megatron-LM"

struct TextFile {
  std::string name;  // relative, "model/config.json"
  std::string text;
  bool operator==(const TextFile&) const = default;
};
using Bundle = std::vector<TextFile>;

const TextFile* find_file(const Bundle& files, std::string_view name);

// What the plan's software does where engines differ (stack/stack.hpp).
struct StackFacts {
  std::string name;
  bool selective_attention = true;  // selective recompute repeats attention, else every other block
  bool local_batch_split = false;   // micro_batch is a rank's batch, which the pipeline cuts in pp
};

// What a set of files says before the machines are known.
struct Hints {
  Engine engine = Engine::kMegatron;
  std::string main_file;  // the one that decides the plan
  std::string cluster;    // of the header; empty where there is none
  std::string stack;
  std::string usual_stack;  // where the header names none: what the command itself tells
  std::string model_name;
  std::string model_family;
  int nodes = 0;             // 0 = not said
  int devices_per_node = 0;  // 0 = not said
  std::string device;        // "a100", where Slurm is asked for it
};

struct ReadRequest {
  int devices = 1;
  StackFacts stack;
  std::optional<model::Model> model;  // given by the user; instead of what the files say
};

struct Note {
  std::string text;
  int line = 0;  // 0: of the whole file
  bool operator==(const Note&) const = default;
};

struct Reading {
  model::Model model;
  plan::Degrees degrees;
  std::vector<int> blocks;  // of each virtual stage where the files divide them by hand
  std::vector<Note> assumed;
  std::vector<Note> not_counted;     // bears on time or memory, and no plan can say it
  std::vector<Note> not_understood;  // unknown, and left out
};

// A plan as degrees and the blocks of its stages; throws Errors ("export.irregular") where ranks do
// not all do the same.
struct RegularPlan {
  plan::Degrees degrees;    // normal(): fields without effect at their defaults
  std::vector<int> blocks;  // of each virtual stage
  bool even = true;         // every stage holds as many
  bool own_stages = false;  // not divided by the rule of plan/stages.hpp
};
RegularPlan regular(const plan::Plan& plan);

// plan::canonical, and also: the schedule of one stage, the kind of a context of one rank, overlaps
// of groups of one rank have no effect.
plan::Degrees normal(plan::Degrees degrees, const model::Model& model);

// Throws Errors with everything that the engine cannot express (export.cannot-express).
Bundle write(Engine engine, const plan::Plan& plan, const StackFacts& stack);

// Throws Errors ("import.unknown-file") where no file is one of an engine.
Hints read_hints(const Bundle& files);
Reading read(const Bundle& files, const Hints& hints, const ReadRequest& request);

}  // namespace nereus::exporting
