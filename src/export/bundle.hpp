// The interface between plans and the engines that run them: the files of an export, and the result
// of reading such files.
//
//   Bundle files = write(Engine::kMegatron, plan, stack);            // launch.sh, job.slurm, ...
//   Hints hints = read_hints(files);                                  // engine, cluster, nodes
//   Reading r = read(files, hints, {.devices = 128, ...});            // degrees, model, notes
//
// Facts that an engine's files have no place for (the machines, the software stack, the model's
// name) are comments in launch.sh: "# nereus: cluster=16xdgx-h100". They never stand in for
// something that the plan needs and the engine cannot do: the files are read back before they are
// returned, and if that gives a different plan, it is an error (export.cannot-express).
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

std::string_view to_string(Engine engine);  // in the form of --to
std::optional<Engine> parse_engine(std::string_view text);
std::vector<std::string> engine_names();
std::string_view title(Engine engine);  // "Megatron-LM"

struct TextFile {
  std::string name;  // relative path, "model/config.json"
  std::string text;
  bool operator==(const TextFile&) const = default;
};
using Bundle = std::vector<TextFile>;

const TextFile* find_file(const Bundle& files, std::string_view name);

// What the plan's software does in cases in which engines differ (stack/stack.hpp).
struct StackFacts {
  std::string name;
  bool selective_attention = true;  // selective recompute repeats attention; else every other block
  // `micro_batch` is a rank's batch, which the pipeline cuts into pp pieces.
  bool local_batch_split = false;
};

// The information in a set of files before the machines are known.
struct Hints {
  Engine engine = Engine::kMegatron;
  std::string main_file;  // the file that decides the plan
  std::string cluster;    // from the header; empty if there is none
  std::string stack;
  std::string usual_stack;  // if the header has none: derived from the command
  std::string model_name;
  std::string model_family;
  int nodes = 0;             // 0 = unknown
  int devices_per_node = 0;  // 0 = unknown
  std::string device;        // "a100", if the script requests it from Slurm
};

struct ReadRequest {
  int devices = 1;
  StackFacts stack;
  std::optional<model::Model> model;  // given by the user; replaces the files' model
};

struct Note {
  std::string text;
  int line = 0;  // 0: for the whole file
  bool operator==(const Note&) const = default;
};

struct Reading {
  model::Model model;
  plan::Degrees degrees;
  std::vector<int> blocks;  // of each virtual stage, if the files set them explicitly
  std::vector<Note> assumed;
  std::vector<Note> not_counted;     // affects time or memory, but a plan cannot express it
  std::vector<Note> not_understood;  // unknown, and ignored
};

// A plan as degrees and the blocks of its stages. Throws Errors ("export.irregular") if ranks
// differ in what they do.
struct RegularPlan {
  plan::Degrees degrees;    // normal(): fields without effect have their defaults
  std::vector<int> blocks;  // of each virtual stage
  bool even = true;         // all stages have the same number
  bool own_stages = false;  // not divided by the rule of plan/stages.hpp
};
RegularPlan regular(const plan::Plan& plan);

// Like plan::canonical, and also resets other fields without effect: the schedule with one stage,
// the kind of context with cp = 1, and overlaps of groups with one rank.
plan::Degrees normal(plan::Degrees degrees, const model::Model& model);

// Throws Errors that list everything the engine cannot express (export.cannot-express).
Bundle write(Engine engine, const plan::Plan& plan, const StackFacts& stack);

// Throws Errors ("import.unknown-file") if no file belongs to an engine.
Hints read_hints(const Bundle& files);
Reading read(const Bundle& files, const Hints& hints, const ReadRequest& request);

}  // namespace nereus::exporting
