#include "predict/stage_sums.hpp"

#include <algorithm>

namespace nereus::cost {

using plan::Degrees;

namespace {

// Layers whose weights and whose activations are transfers of their own.
void count_layers(StageSums& sums, const StageClass& stage, const KindRow* kinds,
                  const KindRow* plain) {
  for (const KindCount& layers : stage.layers) {
    const KindRow& kind = kinds[layers.kind];
    if (kind.time.parameters + kind.time.expert_parameters > 0)
      sums.layers_with_weights += layers.count;
    if (kind.memory.kept > 0) sums.layers_with_kept += layers.again;
    if (plain[layers.kind].memory.kept > 0) sums.layers_with_kept += layers.count - layers.again;
  }
}

}  // namespace

StageSums sums_of(const StageClass& stage, const KindRow* kinds, const KindRow* plain,
                  const PlanShape& shape, double tied, bool offloads) {
  StageSums sums;
  for (const KindCount& layers : stage.layers) {
    const KindRow& kind = kinds[layers.kind];
    if (layers.again > 0) {
      sums.work.add(kind.time, layers.again);
      sums.rank.add(kind.memory, layers.again);
    }
    if (layers.again < layers.count) {
      sums.work.add(plain[layers.kind].time, layers.count - layers.again);
      sums.rank.add(plain[layers.kind].memory, layers.count - layers.again);
    }
    const double dense = kind.time.parameters;
    const double experts = kind.time.expert_parameters;
    sums.largest_divided =
        std::max(sums.largest_divided, (shape.dense_shards.weights > 1 ? dense : 0) +
                                           (shape.expert_shards.weights > 1 ? experts : 0));
    sums.largest_kept = std::max(sums.largest_kept, dense / shape.dense_shards.weights +
                                                        experts / shape.expert_shards.weights);
  }
  if (offloads) count_layers(sums, stage, kinds, plain);
  // A rank that has both ends of a tied weight keeps, gathers and reduces it once.
  if (stage.holds_first_layer && stage.holds_last_layer) sums.work.sum.parameters -= tied;
  return sums;
}

namespace {

// For the fullest slice, which is the first.
void keep_tables(RankMemory& rank, const Degrees& d, const Tables& tables) {
  const TableSlices& slices = tables.table_slices(d);
  const double element = element_bytes(d.precision);
  const TableStep step = table_step_of(d, tables);
  rank.table_weights = slices.weights.front() * (1 - d.offload.weights);
  rank.table_optimizer = slices.state.front() * (1 - d.offload.optimizer);
  rank.table_gradients = step.gradients;
  rank.table_buffers = table_traffic(slices, tables.samples_per_micro_batch(d), element).buffers +
                       step.sparse + step.dense;
  rank.tiers[static_cast<std::size_t>(d.offload.tier)] +=
      slices.weights.front() * d.offload.weights + slices.state.front() * d.offload.optimizer;
}

}  // namespace

TableStep table_step_of(const Degrees& d, const Tables& tables) {
  if (!tables.has_tables()) return {};
  const int copies = std::max(1, d.dp / d.ep);
  TableUse use;
  use.samples = static_cast<double>(d.global_batch) / copies;
  use.element = element_bytes(d.precision);
  use.copies = tables.machine().wire(copies, d.ep);
  const auto beyond = static_cast<std::size_t>(d.offload.tier);
  use.tiers.weights = {1 - d.offload.weights};
  use.tiers.weights[beyond] = d.offload.weights;
  use.tiers.state = {1 - d.offload.optimizer};
  use.tiers.state[beyond] = d.offload.optimizer;
  return table_step(tables.table_slices(d), use, tables.machine());
}

void keep(StageSums& sums, const StageClass& stage, const PlanShape& shape, const Degrees& d,
          const Tables& tables) {
  const StackOptions& options = tables.options();
  RankMemory& rank = sums.rank;
  const double dense = sums.work.sum.parameters;
  const double experts = sums.work.sum.expert_parameters;
  sums.copied_weights =
      d.offload.weights * options.weight_bytes *
      (dense / shape.dense_shards.weights + experts / shape.expert_shards.weights);
  const auto kept = [&](double Shards::*kind) {
    return dense / (shape.dense_shards.*kind) + experts / (shape.expert_shards.*kind);
  };
  const double weights = kept(&Shards::weights);
  const double optimizer = kept(&Shards::optimizer);
  rank.held_weights = weights;
  rank.weights = weights * (1 - d.offload.weights);
  rank.gradients = kept(&Shards::gradients);
  rank.optimizer = optimizer * (1 - d.offload.optimizer);
  if (shape.sharing == Sharing::kWeights)
    rank.gathered = shape.keeps_whole ? (shape.dense_shards.weights > 1 ? dense : 0) +
                                            (shape.expert_shards.weights > 1 ? experts : 0)
                                      : 2 * sums.largest_divided;
  rank.staged = d.offload.weights * options.weight_bytes * std::min(weights, 2 * sums.largest_kept);
  rank.tiers[static_cast<std::size_t>(d.offload.tier)] =
      weights * d.offload.weights * options.weight_bytes +
      optimizer * d.offload.optimizer * options.optimizer_bytes;
  if (tables.has_tables()) keep_tables(rank, d, tables);
  const double flight = in_flight(shape.pipeline, stage.first, shape.num_micro_batches);
  if (d.pp > 1) rank.gathered_inputs = 0;  // only the micro-batch in hand has them
  rank.keep_activations(flight, d.pp > 1 ? tables.machine().parameters.pipeline_layers : 0,
                        d.offload.activations, d.offload.tier);
}

double copy_seconds(const StageSums& sums, const PlanShape& shape, const Degrees& d,
                    const Tables& tables) {
  if (d.offload.none()) return 0;
  const bool kept = shape.sharing == Sharing::kWeights && shape.keeps_whole;
  const double weights = kept ? 0 : 2 * sums.copied_weights;
  const double activations = 2 * d.offload.activations * sums.rank.kept;
  return tables.machine()
      .tier(d.offload.tier)
      .seconds(weights + activations, 2 * ((weights > 0 ? sums.layers_with_weights : 0) +
                                           (activations > 0 ? sums.layers_with_kept : 0)));
}

double update_copy_seconds(const StageSums& sums, double updates, const Degrees& d,
                           const Tables& tables) {
  if (d.offload.none()) return 0;
  const double optimizer =
      updates * d.offload.optimizer * update_copy_bytes(d.offload.tier, tables.options());
  const int kinds = (optimizer > 0 ? 1 : 0) + (sums.copied_weights > 0 ? 1 : 0);
  return tables.machine()
      .tier(d.offload.tier)
      .seconds(optimizer + sums.copied_weights, kinds * sums.layers_with_weights);
}

double sharding_seconds(const StageWork& work, const PlanShape& shape,
                        const StackOptions& options) {
  if (!shape.gathers_each()) return 0;
  // Embedding and head are each gathered together with a block; one additional gather represents
  // them.
  double seconds = shard_seconds(shape.dense, work.sum.parameters, work.sum.blocks + 1, options);
  if (shape.has_experts)
    seconds +=
        shard_seconds(shape.experts, work.sum.expert_parameters, work.sum.expert_layers, options);
  return seconds;
}

StageTime time_of(const StageClass& stage, const StageSums& sums, const KindRow* plain,
                  const PlanShape& shape, const Degrees& d, StageMode mode, const Tables& tables) {
  const double shards = sharding_seconds(sums.work, shape, tables.options());
  const double copies = copy_seconds(sums, shape, d, tables);
  StageTime time = stage_time(sums.work, shards, copies, mode, tables.machine());
  if (shape.pipeline.schedule != plan::Schedule::kVaruna) return time;
  StageWork once;
  for (const KindCount& layers : stage.layers) once.add(plain[layers.kind].time, layers.count);
  time.passes = stage_time(once, shards, copies, mode, tables.machine()).total;
  time.backward =
      copies > 0 ? stage_time(once, shards, 0, mode, tables.machine()).total : time.passes;
  return time;
}

double stage_reduce_seconds(const LayerTime& sum, const PlanShape& shape,
                            const StackOptions& options) {
  const bool each = shape.gathers_each();
  double seconds = 0;
  if (!each || shape.dense.pieces == 1)
    seconds += reduce_seconds(shape.dense, sum.parameters, options);
  if (shape.has_experts && (!each || shape.experts.pieces == 1))
    seconds += reduce_seconds(shape.experts, sum.expert_parameters, options);
  return seconds;
}

double stage_reduce_each_seconds(const LayerTime& sum, const PlanShape& shape,
                                 const StackOptions& options) {
  if (!shape.reduces_each) return 0;
  double seconds = reduce_each_seconds(shape.dense, sum.parameters, options);
  if (shape.has_experts)
    seconds += reduce_each_seconds(shape.experts, sum.expert_parameters, options);
  return seconds;
}

}  // namespace nereus::cost
