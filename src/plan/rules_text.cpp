// The messages of check_degrees: for each rule of rules.cpp, one sentence with the numbers and one
// with the nearest valid choices.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "plan/degree_fields.hpp"
#include "plan/rules.hpp"
#include "plan/table_placement.hpp"

namespace nereus::plan {

namespace {

using Valid = std::function<bool(std::int64_t)>;

// The nearest valid values below and above, as "4 or 8"; empty if there are none. The bounds keep
// the search short for any typed number.
std::string near(std::int64_t wanted, std::int64_t least, std::int64_t most, const Valid& valid) {
  constexpr std::int64_t kMostSteps = 1 << 16;
  if (most < least) return {};
  std::vector<std::int64_t> found;
  const std::int64_t start = std::clamp(wanted, least, most);
  for (std::int64_t v = start; v >= least && v > start - kMostSteps; --v)
    if (v != wanted && valid(v)) {
      found.push_back(v);
      break;
    }
  for (std::int64_t v = start; v <= most && v < start + kMostSteps; ++v)
    if (v != wanted && valid(v)) {
      if (found.empty() || found.back() != v) found.push_back(v);
      break;
    }
  return fmt::format("{}", fmt::join(found, " or "));
}

std::string choose(std::string_view name, const std::string& values) {
  return values.empty() ? std::string() : fmt::format("{} = {}", name, values);
}

std::string join_hints(std::vector<std::string> hints) {
  std::erase(hints, std::string());
  return fmt::format("{}", fmt::join(hints, "; "));
}

class Explainer {
 public:
  Explainer(const Degrees& degrees, const DegreeLimits& limits, const model::Model& model,
            const cluster::Cluster& cluster)
      : d_(degrees), limits_(limits), model_(model), cluster_(cluster) {}

  ErrorList explain(RuleSet violated) {
    for (int r = 0; r < kNumRules; ++r)
      if ((violated >> r & 1U) != 0) explain(static_cast<Rule>(r));
    return std::move(errors_);
  }

 private:
  void say(Rule rule, std::string message, std::string hint) {
    errors_.add(std::string(code_of(rule)), std::move(message), {}, std::move(hint));
  }

  // The values near the asked one that make exactly this rule hold, everything else unchanged.
  std::string near_degree(Rule rule, std::string_view name, int Degrees::*field, int most) {
    return choose(name, near(d_.*field, 1, most, [&](std::int64_t value) {
                    Degrees other = d_;
                    other.*field = static_cast<int>(value);
                    return (violated_rules(other, limits_) & bit_of(rule)) == 0;
                  }));
  }

  void explain(Rule rule);
  void explain_degree();
  void explain_devices();
  void explain_batch();
  void explain_schedule();
  void explain_micro_batches();
  void explain_precision();
  void explain_tier();
  void explain_tables();

  const Degrees& d_;
  const DegreeLimits& limits_;
  const model::Model& model_;
  const cluster::Cluster& cluster_;
  ErrorList errors_;
};

void Explainer::explain_degree() {
  for_each_degree([&](const auto& field) {
    if constexpr (std::is_same_v<decltype(field.degree), int Degrees::*>)
      if (d_.*field.degree < 1 && field.least == 1)
        say(Rule::kDegree,
            fmt::format("{} = {}: it must be at least 1", field.name, d_.*field.degree),
            fmt::format("{} = 1", field.name));
  });
}

void Explainer::explain_devices() {
  const double product = double(d_.tp) * d_.pp * d_.dp * d_.cp;
  std::vector<std::string> hints;
  for (const auto& [name, field] : {std::pair{"dp", &Degrees::dp}, std::pair{"pp", &Degrees::pp},
                                    std::pair{"tp", &Degrees::tp}, std::pair{"cp", &Degrees::cp}})
    hints.push_back(near_degree(Rule::kDevices, name, field, limits_.devices));
  std::string hint = join_hints(hints);
  if (hint.empty()) {
    // No single degree mends it: offer model axes that divide the devices, with the dp they need.
    const double axes = double(d_.tp) * d_.pp * d_.cp;
    const auto start = static_cast<std::int64_t>(std::min<double>(axes, limits_.devices));
    hint = fmt::format(
        "tp x pp x cp (now {:.0f}) must divide {}: {}", axes, limits_.devices,
        near(start, 1, limits_.devices, [&](std::int64_t v) { return limits_.devices % v == 0; }));
  }
  say(Rule::kDevices,
      fmt::format("tp x pp x dp x cp = {} x {} x {} x {} = {}, but the cluster has {}", d_.tp,
                  d_.pp, d_.dp, d_.cp, counted(fmt::format("{:.0f}", product), "rank"),
                  counted(limits_.devices, "device")),
      hint);
}

void Explainer::explain_batch() {
  const double per_pass = double(d_.dp) * d_.micro_batch;
  constexpr int kMost = std::numeric_limits<int>::max();
  say(Rule::kBatch,
      fmt::format("global_batch = {} is not a multiple of dp x micro_batch = {} x {} = {:.0f}",
                  d_.global_batch, d_.dp, d_.micro_batch, per_pass),
      join_hints({near_degree(Rule::kBatch, "global_batch", &Degrees::global_batch, kMost),
                  near_degree(Rule::kBatch, "micro_batch", &Degrees::micro_batch, kMost)}));
}

void Explainer::explain_schedule() {
  const std::string_view name = to_string(d_.schedule);
  if (d_.schedule == Schedule::kDualPipe && d_.pp % 2 != 0)
    say(Rule::kSchedule, fmt::format("schedule {} needs an even pp, not {}", name, d_.pp),
        fmt::format("pp = {} or {}", d_.pp - 1, d_.pp + 1));
  if (!recomputes_enough(d_))
    say(Rule::kSchedule,
        d_.recompute == Recompute::kFull
            ? fmt::format("schedule {} recomputes all blocks, not {} of each stage", name,
                          d_.recompute_blocks)
            : fmt::format("schedule {} needs recompute = full, not {}", name,
                          to_string(d_.recompute)),
        "full recompute of all blocks, or schedule 1f1b");
  const InterleaveRule chunks = interleave_rule(d_.schedule);
  if (d_.interleave < chunks.least)
    say(Rule::kSchedule,
        fmt::format("schedule {} needs interleave = {}, not {}", name, chunks.least, d_.interleave),
        fmt::format("interleave = {}, or schedule 1f1b", chunks.least));
  if (d_.interleave > chunks.most)
    say(Rule::kSchedule,
        fmt::format("schedule {} takes interleave = {} at most, not {}", name, chunks.most,
                    d_.interleave),
        fmt::format("interleave = {}, or schedule interleaved or looped-bfs", chunks.most));
}

void Explainer::explain_micro_batches() {
  const MicroBatchRule rule = micro_batch_rule(d_.schedule, d_.pp, d_.interleave);
  const std::int64_t per_pass = std::int64_t{d_.dp} * d_.micro_batch;
  const std::int64_t count = d_.global_batch / per_pass;
  const std::string good = near(count, rule.least, std::numeric_limits<int>::max() / per_pass,
                                [&](std::int64_t value) { return value % rule.multiple == 0; });
  say(Rule::kMicroBatches,
      fmt::format("schedule {} on pp = {} needs a number of micro-batches that is a multiple of {} "
                  "and at least {}; global_batch / (dp x micro_batch) = {} / ({} x {}) = {}",
                  to_string(d_.schedule), d_.pp, rule.multiple, rule.least, d_.global_batch, d_.dp,
                  d_.micro_batch, count),
      good.empty()
          ? "a smaller pp, dp or micro_batch"
          : fmt::format("{} micro-batches: global_batch = micro-batches x {}", good, per_pass));
}

void Explainer::explain_precision() {
  for (const cluster::NodeGroup& group : cluster_.groups) {
    const cluster::Device& device = group.node.device;
    if (device.has(d_.precision)) continue;
    std::vector<std::string_view> has;
    for (int p = 0; p < cluster::kNumPrecisions; ++p)
      if (device.has(static_cast<cluster::Precision>(p)))
        has.push_back(cluster::to_string(static_cast<cluster::Precision>(p)));
    say(Rule::kPrecision,
        fmt::format("device {} has no {}",
                    device.short_name.empty() ? device.name : device.short_name,
                    cluster::to_string(d_.precision)),
        fmt::format("it has {}", fmt::join(has, ", ")));
  }
}

void Explainer::explain_tier() {
  const std::string_view tier = to_string(d_.offload.tier);
  if (d_.offload.tier == Tier::kDevice)
    return say(Rule::kTier, "offloading to tier \"device\" has no effect",
               "tier host, expanded or nvme");
  for (const cluster::NodeGroup& group : cluster_.groups) {
    if (group.node.tier(tier) != nullptr) continue;
    std::vector<std::string> has;
    for (const cluster::MemoryTier& other : group.node.tiers) has.push_back(other.name);
    say(Rule::kTier,
        fmt::format("offload to {} memory, but node {} has no tier \"{}\"", tier, group.node.name,
                    tier),
        has.empty() ? fmt::format("add a tier \"{}\" to the node, or no offload", tier)
                    : fmt::format("it has {}; or add a tier \"{}\" to the node",
                                  fmt::join(has, ", "), tier));
  }
}

void Explainer::explain_tables() {
  if (d_.pp > 1)
    say(Rule::kTables,
        fmt::format("pp = {}, but model {} has embedding tables, which feed a layer after its "
                    "MLP, so it cannot be split into stages",
                    d_.pp, model_.name),
        "pp = 1; ep ranks share the tables");
  Degrees one_stage = d_;
  one_stage.pp = 1;
  if ((violated_rules(one_stage, limits_) & bit_of(Rule::kTables)) == 0) return;
  const std::string choice = near_degree(Rule::kTables, "ep", &Degrees::ep, limits_.devices);
  if (keeps_tables_whole(d_.table_split))
    say(Rule::kTables,
        fmt::format("ep = {} ranks share {}, so some ranks would have none", d_.ep,
                    counted(limits_.tables, "whole table")),
        join_hints({choice, "table_split row or column"}));
  else
    say(Rule::kTables,
        fmt::format("ep = {} ranks share the {} of every table: ep or a divisor of ep must divide "
                    "them and leave at least {} each",
                    d_.ep, counted(limits_.table_dim, "column"), kLeastColumns),
        join_hints({choice, "table_split row"}));
}

void Explainer::explain(Rule rule) {
  const auto tp_choice = [&] { return near_degree(rule, "tp", &Degrees::tp, limits_.devices); };
  const auto cp_choice = [&] { return near_degree(rule, "cp", &Degrees::cp, limits_.devices); };
  const auto ep_choice = [&] { return near_degree(rule, "ep", &Degrees::ep, limits_.devices); };
  switch (rule) {
    case Rule::kDegree:
      return explain_degree();
    case Rule::kDevices:
      return explain_devices();
    case Rule::kBatch:
      return explain_batch();
    case Rule::kTensor:
      return say(
          rule,
          fmt::format("tp = {}, but model {} has no operator that tensor parallelism divides",
                      d_.tp, model_.name),
          "tp = 1");
    case Rule::kHeads:
      return say(rule, fmt::format("tp = {} does not divide heads = {}", d_.tp, limits_.heads),
                 tp_choice());
    case Rule::kKvHeads:
      return say(rule,
                 fmt::format("tp = {} neither divides kv_heads = {} nor is a multiple of it", d_.tp,
                             limits_.kv_heads),
                 tp_choice());
    case Rule::kFfn:
      return say(rule,
                 limits_.shared_ffn > 0
                     ? fmt::format("tp = {} does not divide ffn = {} and the shared experts' {}",
                                   d_.tp, limits_.ffn, limits_.shared_ffn)
                     : fmt::format("tp = {} does not divide ffn = {}", d_.tp, limits_.ffn),
                 tp_choice());
    case Rule::kStages:
      return say(rule,
                 fmt::format(
                     "pp x interleave = {} x {} = {} stages, but {}{} fill at most {}", d_.pp,
                     d_.interleave, std::int64_t{d_.pp} * d_.interleave,
                     counted(limits_.span.blocks, "block"),
                     limits_.span.most_stages() > limits_.span.blocks ? ", embedding and head" : "",
                     limits_.span.most_stages()),
                 join_hints({near_degree(rule, "pp", &Degrees::pp, limits_.devices),
                             near_degree(rule, "interleave", &Degrees::interleave,
                                         limits_.span.most_stages())}));
    case Rule::kInterleave:
      return say(rule, fmt::format("interleave = {} needs pp above 1", d_.interleave),
                 "interleave = 1, or pp = 2");
    case Rule::kSchedule:
      return explain_schedule();
    case Rule::kMicroBatches:
      return explain_micro_batches();
    case Rule::kContext: {
      if (limits_.seq == 0)
        return say(rule, fmt::format("cp = {}, but model {} has no sequence", d_.cp, model_.name),
                   "cp = 1");
      const bool zigzag = d_.context == ContextKind::kZigzag;
      return say(rule,
                 fmt::format("seq = {} is not a multiple of {} = {} (context {})", limits_.seq,
                             zigzag ? "2 cp" : "cp",
                             zigzag ? 2 * std::int64_t{d_.cp} : std::int64_t{d_.cp},
                             to_string(d_.context)),
                 cp_choice());
    }
    case Rule::kContextHeads:
      return say(rule,
                 fmt::format("all-to-all context splits heads by tp x cp = {} x {}, which does not "
                             "divide heads = {}",
                             d_.tp, d_.cp, limits_.heads),
                 join_hints({cp_choice(), "context zigzag"}));
    case Rule::kSequenceParallel:
      return say(rule, "sequence parallelism needs tp above 1; tp = 1",
                 "tp = 2, or no sequence parallelism");
    case Rule::kSequenceSplit:
      return say(
          rule,
          fmt::format("sequence parallelism splits seq = {} by tp x cp = {} x {}, which does "
                      "not divide it",
                      limits_.seq, d_.tp, d_.cp),
          join_hints({tp_choice(), "no sequence parallelism"}));
    case Rule::kExperts:
      if (limits_.experts == 0)
        return say(rule, fmt::format("ep = {}, but model {} has no experts", d_.ep, model_.name),
                   "ep = 1");
      return say(rule, fmt::format("ep = {} does not divide experts = {}", d_.ep, limits_.experts),
                 ep_choice());
    case Rule::kExpertRanks:
      return say(rule,
                 fmt::format("ep x expert_tp = {} x {} does not divide the ranks of a stage, tp x "
                             "cp x dp = {} x {} x {}",
                             d_.ep, d_.expert_tp, d_.tp, d_.cp, d_.dp),
                 join_hints({ep_choice(), near_degree(rule, "expert_tp", &Degrees::expert_tp,
                                                      limits_.devices)}));
    case Rule::kExpertTensor:
      if (limits_.expert_ffn == 0)
        return say(
            rule,
            fmt::format("expert_tp = {}, but model {} has no experts", d_.expert_tp, model_.name),
            "expert_tp = 1");
      return say(rule,
                 fmt::format("expert_tp = {} does not divide the experts' ffn = {}", d_.expert_tp,
                             limits_.expert_ffn),
                 near_degree(rule, "expert_tp", &Degrees::expert_tp, limits_.devices));
    case Rule::kZero:
      return say(rule, fmt::format("zero = {}: it must be 0, 1, 2 or 3", d_.zero),
                 d_.zero < 0 ? "zero = 0" : "zero = 3");
    case Rule::kZeroGroup:
      return say(rule,
                 fmt::format("zero_group = {} must divide dp x cp = {} x {}{}", d_.zero_group,
                             d_.dp, d_.cp,
                             limits_.experts > 0 ? ", and zero_group x tp must divide ep x "
                                                   "expert_tp or be a multiple of it"
                                                 : ""),
                 join_hints({near_degree(rule, "zero_group", &Degrees::zero_group, limits_.devices),
                             "zero_group = 0 for the whole data-parallel group"}));
    case Rule::kPrecision:
      return explain_precision();
    case Rule::kOffload:
      return say(rule,
                 fmt::format("offload weights = {}, optimizer = {}, activations = {}: shares must "
                             "lie between 0 and 1",
                             d_.offload.weights, d_.offload.optimizer, d_.offload.activations),
                 "0 = none, 1 = all");
    case Rule::kTier:
      return explain_tier();
    case Rule::kTables:
      return explain_tables();
  }
}

}  // namespace

ErrorList check_degrees(const Degrees& degrees, const model::Model& model,
                        const cluster::Cluster& cluster) {
  const DegreeLimits limits = degree_limits(model, cluster);
  const RuleSet violated = violated_rules(degrees, limits);
  if (violated == 0) return {};
  return Explainer(degrees, limits, model, cluster).explain(violated);
}

}  // namespace nereus::plan
