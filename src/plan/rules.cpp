#include "plan/rules.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "plan/table_placement.hpp"

namespace nereus::plan {

namespace {

constexpr std::array<std::string_view, kNumRules> kCodes = {"plan.degree",
                                                            "plan.devices",
                                                            "plan.batch",
                                                            "plan.tensor",
                                                            "plan.heads",
                                                            "plan.kv-heads",
                                                            "plan.ffn",
                                                            "plan.stages",
                                                            "plan.interleave",
                                                            "plan.schedule",
                                                            "plan.micro-batches",
                                                            "plan.context",
                                                            "plan.context-heads",
                                                            "plan.sequence-parallel",
                                                            "plan.sequence-split",
                                                            "plan.experts",
                                                            "plan.expert-ranks",
                                                            "plan.expert-tensor",
                                                            "plan.zero",
                                                            "plan.zero-group",
                                                            "plan.no-precision",
                                                            "plan.offload",
                                                            "plan.no-tier",
                                                            "plan.tables"};

// Products of degrees a user typed: held at the top instead of wrapping round.
std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::int64_t>::max() : result;
}

bool divides(std::int64_t divisor, std::int64_t number) { return number % divisor == 0; }

// Whether every rank of a group gets a part of the tables that kernels can work on.
bool cuts_tables(const Degrees& d, const DegreeLimits& limits) {
  if (d.ep == 1 || d.table_split == TableSplit::kRow) return true;
  if (keeps_tables_whole(d.table_split)) return d.ep <= limits.tables;
  return column_parts(limits.table_dim, d.ep) > 0;
}

bool in_unit_range(double share) { return share >= 0 && share <= 1; }

}  // namespace

std::string_view code_of(Rule rule) { return kCodes[static_cast<std::size_t>(rule)]; }

MicroBatchRule micro_batch_rule(Schedule schedule, int pp, int interleave) {
  if (pp <= 1) return {};
  if (schedule == Schedule::kInterleaved && interleave > 1) return {pp, pp};
  if (schedule == Schedule::kDualPipe) return {2LL * pp, 2};
  if (schedule == Schedule::kLoopedBfs || schedule == Schedule::kZbH1) return {pp, 1};
  if (schedule == Schedule::kZbH2 || schedule == Schedule::kZbV) return {2LL * pp, 1};
  return {};
}

InterleaveRule interleave_rule(Schedule schedule) {
  switch (schedule) {
    case Schedule::kInterleaved:
    case Schedule::kLoopedBfs:
      return {1, std::numeric_limits<int>::max()};
    case Schedule::kZbV:
      return {2, 2};
    default:
      return {1, 1};
  }
}

bool recomputes_enough(const Degrees& d) {
  if (d.schedule != Schedule::kVaruna || d.pp <= 1) return true;
  return d.recompute == Recompute::kFull && d.recompute_blocks == 0;
}

DegreeLimits degree_limits(const model::Model& model, const cluster::Cluster& cluster) {
  DegreeLimits limits;
  limits.devices = cluster.num_devices();
  limits.span = layer_span(model);
  for (const model::LayerKind& kind : model.kinds)
    for (const model::Operator& op : kind.operators)
      if (op.split != model::Split::kReplicated && op.split != model::Split::kExperts &&
          op.split != model::Split::kTables)
        limits.splits_tensors = true;
  if (model.transformer) {
    const model::TransformerShape& shape = *model.transformer;
    // Heads of attention and of scans are divided alike.
    limits.heads = model::has_scans(shape) ? std::gcd(shape.heads, shape.ssm_heads) : shape.heads;
    limits.kv_heads = shape.kv_lora > 0 ? shape.heads : shape.kv_heads;
    limits.seq = shape.seq;
    limits.experts = shape.experts;
    if (model::has_dense_mlp(shape)) limits.ffn = shape.ffn;
    if (shape.experts > 0) limits.expert_ffn = shape.expert_ffn;
    if (shape.shared_experts > 0)
      limits.shared_ffn =
          shape.shared_experts *
          (shape.shared_expert_ffn > 0 ? shape.shared_expert_ffn : shape.expert_ffn);
  }
  if (const int layer = model.table_layer(); layer >= 0) {
    limits.tables = static_cast<int>(model.layer(layer).operators.size());
    for (const model::Operator& op : model.layer(layer).operators)
      limits.table_dim = std::gcd(limits.table_dim, static_cast<int>(op.n));
  }
  limits.precisions = (1U << cluster::kNumPrecisions) - 1;
  constexpr Tier kBeyond[] = {Tier::kExpanded, Tier::kHost, Tier::kNvme};
  for (const Tier tier : kBeyond) limits.tiers |= 1U << static_cast<int>(tier);
  for (const cluster::NodeGroup& group : cluster.groups) {
    for (const Tier tier : kBeyond)
      if (group.node.tier(to_string(tier)) == nullptr)
        limits.tiers &= ~(1U << static_cast<int>(tier));
    for (int p = 0; p < cluster::kNumPrecisions; ++p)
      if (!group.node.device.has(static_cast<cluster::Precision>(p)))
        limits.precisions &= ~(1U << p);
  }
  return limits;
}

RuleSet violated_rules(const Degrees& d, const DegreeLimits& limits) {
  if (std::min({d.tp, d.pp, d.dp, d.cp, d.ep, d.expert_tp, d.interleave, d.micro_batch,
                d.global_batch}) < 1)
    return bit_of(Rule::kDegree);
  RuleSet violated = 0;
  const auto require = [&](bool holds, Rule rule) {
    if (!holds) violated |= bit_of(rule);
  };

  const std::int64_t team = product(d.tp, d.cp);
  const std::int64_t stage_ranks = product(team, d.dp);
  const std::int64_t data_group = product(d.dp, d.cp);
  const std::int64_t replica_batch = product(d.dp, d.micro_batch);
  require(product(stage_ranks, d.pp) == limits.devices, Rule::kDevices);
  require(divides(replica_batch, d.global_batch), Rule::kBatch);

  if (d.tp > 1) {
    require(limits.splits_tensors, Rule::kTensor);
    require(divides(d.tp, limits.heads), Rule::kHeads);
    if (limits.kv_heads > 0)
      require(divides(d.tp, limits.kv_heads) || divides(limits.kv_heads, d.tp), Rule::kKvHeads);
    require(divides(d.tp, limits.ffn) && divides(d.tp, limits.shared_ffn), Rule::kFfn);
  }

  require(product(d.pp, d.interleave) <= limits.span.most_stages(), Rule::kStages);
  require(d.interleave == 1 || d.pp > 1, Rule::kInterleave);
  if (d.pp > 1) {
    const InterleaveRule chunks = interleave_rule(d.schedule);
    const bool odd_dualpipe = d.schedule == Schedule::kDualPipe && d.pp % 2 != 0;
    require(d.interleave >= chunks.least && d.interleave <= chunks.most && !odd_dualpipe &&
                recomputes_enough(d),
            Rule::kSchedule);
    const MicroBatchRule rule = micro_batch_rule(d.schedule, d.pp, d.interleave);
    const std::int64_t micro_batches = d.global_batch / replica_batch;
    const bool taken = micro_batches >= rule.least && divides(rule.multiple, micro_batches);
    require(taken || micro_batches < 1, Rule::kMicroBatches);  // below 1 kBatch says it all
  }

  if (d.cp > 1) {
    const std::int64_t chunks = d.context == ContextKind::kZigzag ? 2LL * d.cp : d.cp;
    require(limits.seq > 0 && divides(chunks, limits.seq), Rule::kContext);
    if (d.context == ContextKind::kAllToAll)
      require(divides(team, limits.heads), Rule::kContextHeads);
  }
  if (d.sequence_parallel) {
    require(d.tp > 1, Rule::kSequenceParallel);
    require(limits.seq > 0 && divides(team, limits.seq), Rule::kSequenceSplit);
  }

  if (limits.tables > 0) {
    require(d.pp == 1 && cuts_tables(d, limits), Rule::kTables);
  } else if (d.ep > 1) {
    require(limits.experts > 0 && divides(d.ep, limits.experts), Rule::kExperts);
  }
  if (d.expert_tp > 1)
    require(limits.expert_ffn > 0 && divides(d.expert_tp, limits.expert_ffn), Rule::kExpertTensor);
  const std::int64_t expert_cut = product(d.ep, d.expert_tp);
  require(divides(expert_cut, stage_ranks), Rule::kExpertRanks);

  require(d.zero >= 0 && d.zero <= 3, Rule::kZero);
  if (d.zero_group != 0) {
    // A group is zero_group x tp neighboring ranks. It must contain whole copies of the experts, or
    // be contained in one.
    const std::int64_t group_ranks = product(std::max(d.zero_group, 1), d.tp);
    const bool fits_experts =
        limits.experts == 0 || divides(expert_cut, group_ranks) || divides(group_ranks, expert_cut);
    require(d.zero_group > 0 && divides(d.zero_group, data_group) && fits_experts,
            Rule::kZeroGroup);
  }

  require((limits.precisions >> static_cast<int>(d.precision) & 1U) != 0, Rule::kPrecision);
  const Offload& offload = d.offload;
  require(in_unit_range(offload.weights) && in_unit_range(offload.optimizer) &&
              in_unit_range(offload.activations),
          Rule::kOffload);
  if (!offload.none())
    require((limits.tiers >> static_cast<int>(offload.tier) & 1U) != 0, Rule::kTier);
  return violated;
}

}  // namespace nereus::plan
