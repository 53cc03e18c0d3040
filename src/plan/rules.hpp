// Whether a regular plan can be built: whole-number rules between degrees, model and cluster.
//
//   check_degrees(degrees, model, cluster).throw_if_any();   // all violated rules, with numbers
//
//   const DegreeLimits limits = degree_limits(model, cluster);    // once
//   if (violated_rules(candidate, limits) != 0) ...               // many times: a set of bits
//
// A search uses the second form: it does not allocate, and code_of(rule) names the reason that the
// search counts.
//
// Some quotients may have a remainder: blocks over stages (plan/stages.hpp gives the rest to the
// earlier stages), vocabulary over tensor ranks (padded), key-value heads over more tensor ranks
// than there are heads (each head is on several ranks), rows of a table over its ranks (the last
// ranks have fewer).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "cluster/cluster.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"
#include "plan/stages.hpp"

namespace nereus::plan {

enum class Rule {
  kDegree,            // every degree is at least 1
  kDevices,           // tp pp dp cp = devices
  kBatch,             // dp micro_batch divides global_batch
  kTensor,            // tp > 1 needs operators that it can divide
  kHeads,             // tp divides heads
  kKvHeads,           // tp divides kv_heads, or kv_heads divides tp
  kFfn,               // tp divides the feed-forward size
  kStages,            // pp interleave <= the number of stages that the layers can fill
  kInterleave,        // interleave > 1 needs pp > 1
  kSchedule,          // the schedule supports this interleave and depth
  kMicroBatches,      // the schedule supports this number of micro-batches
  kContext,           // cp (zig-zag: 2 cp) divides the sequence
  kContextHeads,      // all-to-all: cp divides heads / tp
  kSequenceParallel,  // needs tp > 1
  kSequenceSplit,     // tp divides the tokens of a context slice
  kExperts,           // ep divides experts
  kExpertRanks,       // ep expert_tp divides tp cp dp
  kExpertTensor,      // expert_tp divides the experts' feed-forward size
  kZero,              // 0 .. 3
  kZeroGroup,         // zero_group divides dp cp, and fits the expert groups
  kPrecision,         // every device supports it
  kOffload,           // shares within 0 .. 1
  kTier,              // offload needs its memory tier on every node
  kTables,            // with tables: pp = 1, and ep can cut them
};
inline constexpr int kNumRules = static_cast<int>(Rule::kTables) + 1;

std::string_view code_of(Rule rule);  // "plan.heads"

using RuleSet = std::uint32_t;
constexpr RuleSet bit_of(Rule rule) { return RuleSet{1} << static_cast<int>(rule); }

// The numbers of a model and a cluster that the rules need; 0 if the model has no such thing.
struct DegreeLimits {
  int devices = 0;
  LayerSpan span;
  bool splits_tensors = false;
  int heads = 0;
  int kv_heads = 0;
  int ffn = 0;         // of dense blocks
  int shared_ffn = 0;  // of the shared experts, which every token visits
  int seq = 0;
  int experts = 0;
  int expert_ffn = 0;
  int tables = 0;
  int table_dim = 0;        // divides the widths of all tables
  unsigned precisions = 0;  // bit p: every device supports Precision p
  unsigned tiers = 0;       // bit t: every node has Tier t
};

DegreeLimits degree_limits(const model::Model& model, const cluster::Cluster& cluster);

// One bit per violated rule; 0 = the plan can be built. If a degree is below 1, only that rule is
// checked.
RuleSet violated_rules(const Degrees& degrees, const DegreeLimits& limits);

// The violated rules as errors, each with the numbers and the nearest valid choices.
ErrorList check_degrees(const Degrees& degrees, const model::Model& model,
                        const cluster::Cluster& cluster);

// Micro-batches a schedule accepts: at least `least` and a multiple of `multiple`.
struct MicroBatchRule {
  std::int64_t least = 1;
  std::int64_t multiple = 1;
};
MicroBatchRule micro_batch_rule(Schedule schedule, int pp, int interleave);

// Virtual stages per rank that a schedule accepts when pp > 1: `least` .. `most`.
struct InterleaveRule {
  int least = 1;
  int most = 1;
};
InterleaveRule interleave_rule(Schedule schedule);

// Varuna's schedule needs full recompute on every stage but the last.
bool recomputes_enough(const Degrees& degrees);

}  // namespace nereus::plan
