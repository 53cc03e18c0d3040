// When a regular plan can be built at all: whole-number rules between degrees, model and cluster.
//
//   check_degrees(degrees, model, cluster).throw_if_any();   // all violated rules, with numbers
//
//   const DegreeLimits limits = degree_limits(model, cluster);    // once
//   if (violated_rules(candidate, limits) != 0) ...               // many times: a set of bits
//
// A search asks the second way: no allocation, and code_of(rule) names the reason it counts.
//
// What is legal although it does not divide: blocks over stages (plan/stages.hpp gives the rest to
// the earlier stages), vocabulary over tensor ranks (padded), key-value heads over more tensor
// ranks than there are heads (each head on several ranks), rows of a table over its ranks (the last
// ones have fewer).
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
  kTensor,            // tp > 1 needs operators that it divides
  kHeads,             // tp divides heads
  kKvHeads,           // tp divides kv_heads, or kv_heads divides tp
  kFfn,               // tp divides the feed-forward size
  kStages,            // pp interleave <= what the layers can fill
  kInterleave,        // interleave > 1 needs pp > 1
  kSchedule,          // the schedule takes this interleave and depth
  kMicroBatches,      // the schedule takes this number of micro-batches
  kContext,           // cp (zig-zag: 2 cp) divides the sequence
  kContextHeads,      // all-to-all: cp divides heads / tp
  kSequenceParallel,  // needs tp > 1
  kSequenceSplit,     // tp divides the tokens of a context slice
  kExperts,           // ep divides experts
  kExpertRanks,       // ep expert_tp divides tp cp dp
  kExpertTensor,      // expert_tp divides the experts' feed-forward size
  kZero,              // 0 .. 3
  kZeroGroup,         // zero_group divides dp cp, and fits the expert groups
  kPrecision,         // every device has it
  kOffload,           // shares within 0 .. 1
  kTier,              // offload needs its memory tier on every node
  kTables,            // of a model with tables: pp = 1; what ep cuts has that many parts
};
inline constexpr int kNumRules = static_cast<int>(Rule::kTables) + 1;

std::string_view code_of(Rule rule);  // "plan.heads"

using RuleSet = std::uint32_t;
constexpr RuleSet bit_of(Rule rule) { return RuleSet{1} << static_cast<int>(rule); }

// What the rules need of a model and a cluster; 0 where the model has no such thing.
struct DegreeLimits {
  int devices = 0;
  LayerSpan span;
  bool splits_tensors = false;
  int heads = 0;
  int kv_heads = 0;
  int ffn = 0;         // of dense blocks
  int shared_ffn = 0;  // of the experts every token visits
  int seq = 0;
  int experts = 0;
  int expert_ffn = 0;
  int tables = 0;
  int table_dim = 0;        // the widths of all tables are multiples of it
  unsigned precisions = 0;  // bit p: every device has Precision p
  unsigned tiers = 0;       // bit t: every node has Tier t
};

DegreeLimits degree_limits(const model::Model& model, const cluster::Cluster& cluster);

// Bits of all violated rules; 0 = the plan can be built. Where a degree is below 1 only that rule
// is looked at.
RuleSet violated_rules(const Degrees& degrees, const DegreeLimits& limits);

// The same as errors: each with the numbers and the nearest valid choices.
ErrorList check_degrees(const Degrees& degrees, const model::Model& model,
                        const cluster::Cluster& cluster);

// Micro-batches a schedule accepts: at least `least` and a multiple of `multiple`.
struct MicroBatchRule {
  std::int64_t least = 1;
  std::int64_t multiple = 1;
};
MicroBatchRule micro_batch_rule(Schedule schedule, int pp, int interleave);

// Virtual stages a rank may have under a schedule when pp > 1: `least` .. `most`.
struct InterleaveRule {
  int least = 1;
  int most = 1;
};
InterleaveRule interleave_rule(Schedule schedule);

// Varuna's order is one of full recompute, on every stage but the last.
bool recomputes_enough(const Degrees& degrees);

}  // namespace nereus::plan
