// The training software, as far as it affects time and memory: what is fused, what overlaps, the
// bytes per parameter of what is kept, and the numbers fitted to its runs.
//
//   const StackLibrary& known = builtin_stacks();      // stack/stack_file.hpp
//   Stack stack = known.resolve("nanotron");           // or known.resolve("megatron", "jean-zay")
//   Parameters p = stack.parameters_for(device);       // defaults < device < stack < site
//
// Numbers are looked up from the general to the specific: the defaults of stack/parameters.hpp, the
// device's family ("A100") and the device, the stack's ancestors and the stack, the site.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/device.hpp"
#include "plan/degrees.hpp"
#include "stack/parameters.hpp"

namespace nereus::cost {

// How the software cuts blocks into pipeline stages (predict/stage_classes.hpp).
enum class StageRule { kEven, kBalanced, kEnds };
// What "selective" recompute repeats: the attention core (Megatron), or every other block
// (torchtitan).
enum class SelectiveRule { kAttention, kEveryOtherBlock };
// What an engine that shards gradients but keeps weights whole (ZeRO-2, without a pipeline)
// communicates in every micro-batch.
enum class Zero2Rule {
  kReduceOnce,  // nothing: gradients stay whole until the step ends (PyTorch, gradient sync off)
  kReduceEach,  // reduce-scatters gradients (DeepSpeed, Megatron-FSDP)
  // Also all-gathers weights before the forward pass (PyTorch FSDP2, reshard_after_forward=False).
  kGatherEach
};
// The meaning of the memory that a stack reports.
enum class MemoryReport { kWorstRankReserved, kFirstRankAllocated };

struct StackOptions {
  plan::Attention attention = plan::Attention::kFlash;
  StageRule stages = StageRule::kEven;
  SelectiveRule selective = SelectiveRule::kAttention;
  Zero2Rule zero2 = Zero2Rule::kReduceEach;
  MemoryReport memory_report = MemoryReport::kWorstRankReserved;
  double weight_bytes = 2;      // per parameter, as stored
  double gradient_bytes = 4;    // per parameter, as accumulated
  double optimizer_bytes = 12;  // per parameter: master weight and two moments
  double reduce_bytes = 4;      // per parameter, in gradient reductions
  double gather_bytes = 2;      // per parameter, in all-gathers of weights
  // Traffic to accumulate gradients, relative to the stack's own type; set by options_for.
  double accumulate_traffic = 1;
  bool regather_backward = true;  // ZeRO-3 frees weights after forward
  // The host updates optimizer state that is in its memory or on its drives; else the state streams
  // through the device (cost/data_parallel.hpp).
  bool host_update = true;
  bool local_batch_split =
      false;  // `micro_batch` is a rank's local batch; the pipeline cuts it into pp pieces
  bool operator==(const StackOptions&) const = default;
};

// The bytes per parameter for a precision: training in plain 32 or 64 bits keeps no master copy,
// and communicates in the precision of computation. Then the formats that a plan sets
// (plan/state_types.hpp): of the stack's optimizer bytes up to eight are two moments, and the rest
// is the master copy. Without one, the weights are 16-bit. int8 moments also have an fp32 scale for
// each block of 2048 (Dettmers 2022).
StackOptions options_for(StackOptions options, cluster::Precision precision,
                         const plan::StateTypes& types = {});

// The meaning of a blank field in a table of runs for this stack; documented in the stack's file.
struct RunDefaults {
  int vocab = 51200;
  int interleave = 1;
  int zero = 0;
  plan::Recompute recompute = plan::Recompute::kNone;
  // Recipes of this stack recompute as much as they need to fit; then a blank `recompute` field
  // gives no information about memory.
  bool recompute_as_needed = false;
  bool sequence_parallel = true;  // if tp > 1
  bool tensor_overlap = false;    // if tp > 1
  bool tied_embeddings = true;    // for models without a gated MLP; the others do not tie
  bool bias = true;               // for models without a gated MLP
  bool expert_tensor = false;     // experts are cut like the other weights: expert_tp = tp
  bool operator==(const RunDefaults&) const = default;
};

// Numbers set for one scope: parameter name -> value.
using Settings = std::map<std::string, double, std::less<>>;

struct ErrorTable;  // stack/error_table.hpp: how far measured runs are from predictions

struct Stack {
  std::string name;
  std::string site;
  StackOptions options;
  RunDefaults defaults;
  std::vector<std::string> software;  // by which errors are known (StackLibrary::software_of)
  std::shared_ptr<const ErrorTable> errors;  // of the library; null if it has none
  Settings settings;  // those of the ancestors, the stack and the site, merged
  std::map<std::string, Settings, std::less<>> devices;            // by family or canonical name
  std::map<std::string, std::string, std::less<>> device_parents;  // "H200" -> "H100"
  Parameters parameters_for(const cluster::Device& device) const;
};

// "A100" of "A100-SXM-80GB".
std::string_view family_of(std::string_view device_name);
// The names under which numbers of a device are looked up, the most specific first:
// "H200-SXM-141GB", "H200", "H100".
std::vector<std::string_view> device_chain(
    std::string_view device_name, const std::map<std::string, std::string, std::less<>>& parents);

// The scope of a number: "device:A100", "stack:nanotron" or "site:jean-zay".
struct Scope {
  enum class Kind { kDevice, kStack, kSite } kind = Kind::kStack;
  std::string name;
  bool operator==(const Scope&) const = default;
};
std::string to_string(const Scope& scope);

// A number that `calibrate` may change: its prior, and how far the number may plausibly be from the
// prior (in natural logarithms, or absolute for shares that may be zero).
struct FreeNumber {
  Scope scope;
  std::string parameter;
  double prior = 0;
  double spread = 0.3;
  bool from_parent = false;  // the prior is what the ancestors have: a few runs move it a little
  bool operator==(const FreeNumber&) const = default;
};

// The interval of a fitted number, and the number of measured rows behind it.
struct FittedRange {
  double low = 0;
  double high = 0;
  int rows = 0;
  bool operator==(const FittedRange&) const = default;
};

struct StackEntry {
  std::string description;
  std::string inherits;  // empty for the root
  std::map<std::string, std::string, std::less<>>
      variants;  // "compile" or "compile=no" -> the stack to use if that column is yes (no)
  std::vector<std::string> frameworks;  // words of a row's software that name this stack
  std::map<std::string, std::string, std::less<>>
      releases;  // "25.01" -> the stack to use for runs of that release or later, YY.MM
  StackOptions options;
  RunDefaults defaults;
  bool limit = false;  // what the hardware could do at best: no run is expected to reach it
  Settings settings;
};

// The machine on which the runs of a set were made; the table of runs does not name it.
struct SiteEntry {
  std::string description;
  std::string source;
  std::vector<std::string> sets;   // sets of runs made there
  double network_bytes_per_s = 0;  // per node, one way; 0 = that of the node type
  Settings settings;
};

struct StackLibrary {
  std::map<std::string, Settings, std::less<>> devices;
  std::map<std::string, std::string, std::less<>> device_parents;  // "H200" -> "H100"
  std::map<std::string, StackEntry, std::less<>> stacks;
  std::map<std::string, SiteEntry, std::less<>> sites;
  std::vector<FreeNumber> free;
  std::map<std::string, FittedRange, std::less<>> ranges;  // "stack:nanotron.host_layer"
  std::shared_ptr<const ErrorTable> errors;

  bool has(std::string_view stack) const { return stacks.find(stack) != stacks.end(); }
  // Throws Errors for an unknown name, with the nearest known one.
  Stack resolve(std::string_view stack, std::string_view site = {}) const;
  double* find(const Scope& scope, std::string_view parameter);  // nullptr if it is not set there
  void set(const Scope& scope, const std::string& parameter, double value);
  void unset(const Scope& scope, const std::string& parameter);
  // The value in a scope if the scope does not set it: that of its ancestors, or the default.
  double inherited(const Scope& scope, std::string_view parameter) const;
  // The scopes from which a scope inherits, the nearest first, and whether one sets a number.
  std::vector<Scope> ancestors(const Scope& scope) const;
  bool sets(const Scope& scope, std::string_view parameter) const;
  // Whether a number in this scope affects predictions for that device, stack and site.
  bool applies(const Scope& scope, std::string_view device, std::string_view stack,
               std::string_view site) const;
  std::string site_of_set(std::string_view set) const;  // empty if unknown
  // The software of a stack, then what it builds on: releases and variants count as their parent,
  // and the root, from which all inherit, only counts for itself. Empty for a limit.
  std::vector<std::string> software_of(std::string_view stack) const;
  std::vector<std::string> stack_names() const;
};

}  // namespace nereus::cost
