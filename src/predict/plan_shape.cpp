#include "predict/plan_shape.hpp"

#include <algorithm>

namespace nereus::cost {

using plan::Degrees;

namespace {

Shards shards_of(int zero, int pieces, bool whole_gradients) {
  Shards shards;
  if (zero >= 1) shards.optimizer = pieces;
  if (zero >= 2 && !whole_gradients) shards.gradients = pieces;
  if (zero >= 3) shards.weights = pieces;
  return shards;
}

// Two pipeline ranks keep each stage: state has twice as many copies, the others `distance` away.
void copy_twice(Division& division, const Machine& machine, int distance) {
  Group& copies = division.outer.group;
  const bool near = distance < machine.fabric.domain;
  if (near || copies.size == 1) copies.per_node = near ? 2 * copies.per_node : 1;
  copies.size *= 2;
}

}  // namespace

PlanShape plan_shape(const Tables& tables, const Degrees& d) {
  const Machine& machine = tables.machine();
  PlanShape shape;
  const bool dual = d.pp > 1 && d.schedule == plan::Schedule::kDualPipe;
  // One stage has no order to speak of.
  shape.pipeline = {d.pp > 1 ? d.schedule : plan::Schedule::k1f1b, dual ? d.pp / 2 : d.pp,
                    dual ? 2.0 : d.interleave};
  shape.num_micro_batches = tables.num_micro_batches(d) / (dual ? 2 : 1);
  shape.has_experts = tables.has_experts();
  shape.keeps_whole = d.pp > 1;
  const int group = d.dp * d.cp;
  const int expert_cut = d.ep * d.expert_tp;
  const int expert_group = std::max(1, group * d.tp / expert_cut);
  const int pieces = d.zero_group > 0 ? std::min(d.zero_group, group) : group;
  const int expert_pieces = std::max(1, pieces * d.tp / expert_cut);
  // State that has one piece is not divided, whatever it is called.
  const bool divides = pieces > 1 || (shape.has_experts && expert_pieces > 1);
  const int zero = divides ? d.zero : 0;
  shape.sharing = zero == 0   ? Sharing::kCopies
                  : zero == 3 ? Sharing::kWeights
                              : Sharing::kOptimizer;
  const StackOptions& options = tables.options();
  shape.reduces_each = zero == 2 && !shape.keeps_whole && options.zero2 != Zero2Rule::kReduceOnce;
  shape.gathers_forward = shape.reduces_each && options.zero2 == Zero2Rule::kGatherEach;
  const bool whole_gradients =
      shape.keeps_whole || (zero == 2 && keeps_gradients(options, shape.num_micro_batches));
  shape.dense = divide(machine, group, d.tp, zero > 0 ? pieces : 1);
  const int stage_ranks = group * d.tp;
  if (dual) copy_twice(shape.dense, machine, stage_ranks * (d.pp - 1));
  shape.dense_shards = shards_of(zero, pieces, whole_gradients);
  if (shape.has_experts) {
    shape.experts = divide(machine, expert_group, expert_cut, zero > 0 ? expert_pieces : 1);
    if (dual) copy_twice(shape.experts, machine, stage_ranks * (d.pp - 1));
    shape.expert_shards = shards_of(zero, expert_pieces, whole_gradients);
  }
  return shape;
}

double boundary_seconds(const Tables& tables, const KindRow* kinds, const Degrees& d, int kind) {
  const Machine& machine = tables.machine();
  const bool same_domain = d.num_ranks() <= machine.fabric.domain;
  const Wire copies = machine.wire(d.sequence_parallel ? 1 : d.tp, 1);
  return transfer_seconds(machine.fabric, same_domain, kinds[kind].message, copies,
                          machine.parameters.host_transfer);
}

TransferLoad plan_load(const Tables& tables, const KindRow* kinds, const StageTable& stages,
                       const PlanShape& shape, const Degrees& d, double memory_share) {
  TransferLoad load;
  double sum = 0;
  for (const KindCount& boundary : stages.boundaries) {
    const double once = boundary_seconds(tables, kinds, d, boundary.kind);
    load.once = std::max(load.once, once);
    sum += boundary.count * once;
  }
  load.crossings = sum * (d.pp - 1) / (d.pp * d.interleave - 1);
  load.num_micro_batches = shape.num_micro_batches;
  load.num_ranks = d.num_ranks();
  load.tp = d.tp;
  load.memory_share = memory_share;
  return load;
}

}  // namespace nereus::cost
