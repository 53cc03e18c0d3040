#include "cost/predict.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "cost/plan_shape.hpp"
#include "cost/tables.hpp"

namespace nereus::cost {

using plan::Degrees;
using plan::Tier;

namespace {

// One class of stages: its layers summed up, and the largest of them.
struct StageSums {
  StageWork work;
  RankMemory rank;
  double largest_divided = 0;  // parameters of the largest layer that are gathered
  double largest_kept = 0;     // parameters of the largest layer that the rank keeps
  double copied_weights = 0;   // bytes of weights that come from the host for each pass
};

StageSums sums_of(const StageClass& stage, const KindRow* kinds, const KindRow* plain,
                  const PlanShape& shape, double tied) {
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
  // A rank that has both ends of a tied weight keeps, gathers and reduces it once.
  if (stage.holds_first_layer && stage.holds_last_layer) sums.work.sum.parameters -= tied;
  return sums;
}

// Fills in what the stage's ranks keep of state and activations.
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
  rank.tiers[static_cast<std::size_t>(Tier::kHost)] =
      weights * d.offload.weights * options.weight_bytes +
      optimizer * d.offload.optimizer * options.optimizer_bytes;
  const double flight = in_flight(shape.pipeline, stage.first, shape.num_micro_batches);
  if (d.pp > 1) rank.gathered_inputs = 0;  // only the micro-batch in hand has them
  rank.keep_activations(flight, d.pp > 1 ? tables.machine().parameters.pipeline_layers : 0,
                        d.offload.activations);
}

// Host copies of one micro-batch: weights for both passes where they are not kept for the step,
// activations out and in again.
double copy_seconds(const StageSums& sums, const PlanShape& shape, const Degrees& d,
                    const Tables& tables) {
  const double rate = tables.machine().tier(Tier::kHost).rate;
  if (rate <= 0) return 0;
  const bool kept = shape.sharing == Sharing::kWeights && shape.keeps_whole;
  const double weights = kept ? 0 : 2 * sums.copied_weights;
  return (weights + 2 * d.offload.activations * sums.rank.kept) / rate;
}

double sharding_seconds(const StageWork& work, const PlanShape& shape,
                        const StackOptions& options) {
  if (!shape.gathers_each()) return 0;
  // Embedding and head are gathered together with a block each; one gather more stands for them.
  double seconds = shard_seconds(shape.dense, work.sum.parameters, work.sum.blocks + 1, options);
  if (shape.has_experts)
    seconds +=
        shard_seconds(shape.experts, work.sum.expert_parameters, work.sum.expert_layers, options);
  return seconds;
}

// Once a step: what is not gathered and scattered in every micro-batch.
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

// Keeps the worst stage's memory.
void take_memory(Memory& worst, const RankMemory& rank, int stage, const Tables& tables) {
  const MemoryParts parts = memory_parts(rank, tables.options(), tables.machine().parameters);
  const double total = total_of(parts);
  if (stage == 0) worst.first_rank_allocated = allocated_of(parts);
  worst.host = std::max(worst.host, rank.tiers[static_cast<std::size_t>(Tier::kHost)]);
  if (total <= worst.total) return;
  worst.total = total;
  worst.parts = parts;
  worst.worst_stage = stage;
}

// What happens once a step, on the stage where it takes longest.
struct StepSums {
  double quickest = std::numeric_limits<double>::infinity();  // seconds that hide the reduction
  double reduce = 0;                                          // seconds
  double optimized = 0;                                       // parameters that a rank updates
  double copied = 0;  // bytes that pass from and to the host during the update
  double most_parameters = -1;
  double later = 0;  // seconds of work after the last chunk
};

void take_step(StepSums& step, const StageSums& sums, double window, const PlanShape& shape,
               const Degrees& d, const StackOptions& options) {
  const LayerTime& sum = sums.work.sum;
  step.quickest = std::min(step.quickest, window);
  // Collectives are dear to compute: without experts the stage with the most parameters decides.
  if (shape.has_experts || sum.parameters > step.most_parameters) {
    step.reduce = std::max(step.reduce, stage_reduce_seconds(sum, shape, options));
    step.most_parameters = sum.parameters;
  }
  const double updates = sum.parameters / shape.dense_shards.optimizer +
                         sum.expert_parameters / shape.expert_shards.optimizer;
  step.optimized = std::max(step.optimized, updates);
  step.copied = std::max(
      step.copied, updates * d.offload.optimizer * options.optimizer_bytes + sums.copied_weights);
}

void add_stage(Prediction& out, const StageTime& slowest, const PlanShape& shape,
               const Tables& tables) {
  const Parameters& p = tables.machine().parameters;
  const int m = shape.num_micro_batches;
  out.add(Part::kCompute, m * slowest.compute);
  out.add(Part::kRecompute, m * slowest.recompute);
  out.add(Part::kTensorComm, m * slowest.tensor);
  out.add(Part::kContextComm, m * slowest.context);
  out.add(Part::kExpertComm, m * slowest.expert);
  out.add(Part::kDataComm, m * slowest.shard);
  out.add(Part::kOffload, m * slowest.offload);
  out.add(Part::kLaunch, m * slowest.launch);
  out.add(Part::kFixed, p.host_step + m * p.host_micro_batch);
  const double memory_share = out.memory.total / out.memory.capacity;
  if (p.memory_pressure > 0 && memory_share > 0.9)
    out.add(Part::kFixed,
            p.memory_pressure * (std::min(memory_share, 1.1) - 0.9) * m * slowest.total);
}

void add_step(Prediction& out, const StepSums& step, const PlanShape& shape, const Degrees& d,
              const Tables& tables) {
  const Machine& machine = tables.machine();
  const StackOptions& options = tables.options();
  out.add(Part::kDataComm,
          exposed_reduce(step.reduce, shape.reduced_as(), step.quickest, shape.pipeline.interleave,
                         step.later, d.data_overlap, machine.parameters));
  const bool ends_apart = d.pp > 1 && stage_order(d.schedule) == StageOrder::kLooped;
  if (ends_apart && tables.tied_parameters() > 0) {
    const Group pair{2, d.num_ranks() <= machine.fabric.domain ? 2 : 1};
    out.add(Part::kDataComm,
            all_reduce_seconds(machine.fabric, pair,
                               tables.tied_parameters() / d.tp * options.reduce_bytes));
  }
  const double update = optimizer_seconds(step.optimized, options, machine);
  out.add(Part::kOptimizer, update);
  out.busy += update;
  if (const double rate = machine.tier(Tier::kHost).rate; step.copied > 0 && rate > 0)
    out.add(Part::kOffload, std::max(0.0, step.copied / rate - update));
}

}  // namespace

Predictor::Predictor(const model::Model& model, const cluster::Cluster& cluster, const Stack& stack,
                     int num_splits)
    : tables_(std::make_unique<Tables>(model, cluster, stack, num_splits)) {}
Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;

Prediction Predictor::predict(const Degrees& d) {
  NEREUS_CHECK(d.pp == 1 || has_closed_form(d.schedule),
               "schedules without a closed form are for the simulator");
  Tables& tables = *tables_;
  const StageTable& stages = tables.stages(stage_key(d));
  const KindRow* kinds = tables.kinds(d, d.recompute);
  const KindRow* plain =
      stages.key.recompute_blocks > 0 ? tables.kinds(d, plan::Recompute::kNone) : kinds;
  const PlanShape shape = plan_shape(tables, d);

  Prediction out;
  out.memory.capacity = tables.machine().capacity();
  out.memory.host_capacity = tables.machine().tier(Tier::kHost).capacity;
  StepSums step;
  const StageMode mode{d.data_overlap, d.pp > 1 && splits_backward(d.schedule)};
  for (std::size_t i = 0; i < stages.classes.size(); ++i) {
    const StageClass& stage = stages.classes[i];
    StageSums sums = sums_of(stage, kinds, plain, shape, tables.tied_parameters() / d.tp);
    keep(sums, stage, shape, d, tables);
    take_memory(out.memory, sums.rank, stage.first, tables);
    const StageTime time =
        stage_time(sums.work, sharding_seconds(sums.work, shape, tables.options()),
                   copy_seconds(sums, shape, d, tables), mode, tables.machine());
    tables.times[i] = time;
    tables.paces[i] = {time.total, shape.num_micro_batches * time.total, stage.multiplicity,
                       time.passes, time.backward};
    out.busy += (time.compute + time.recompute) * shape.num_micro_batches * stage.multiplicity /
                shape.pipeline.depth;
    take_step(step, sums, reduction_window(tables.paces[i], shape.pipeline), shape, d,
              tables.options());
  }
  out.fits = out.memory.total <= out.memory.capacity && out.memory.host <= out.memory.host_capacity;

  const PipelineTime pipeline =
      pipeline_time({tables.paces.data(), stages.classes.size()}, shape.pipeline);
  add_stage(out, tables.times[static_cast<std::size_t>(pipeline.slowest)], shape, tables);
  if (d.pp > 1) {
    out.add(Part::kBubble, pipeline.bubble);
    out.add(Part::kPipelineComm, plan_transfers(tables, kinds, stages, shape, d,
                                                out.memory.total / out.memory.capacity));
  }
  step.later = later_chunks(shape.pipeline, pipeline.own, shape.num_micro_batches);
  add_step(out, step, shape, d, tables);

  for (const double part : out.parts) out.step += part;
  out.model_flops = tables.flops_per_sample() * d.global_batch;
  const double peak = tables.machine().device.peak_of(d.precision).value;
  out.mfu = peak > 0 ? out.model_flops / (out.step * peak * d.num_ranks()) : 0;
  return out;
}

Predictor::StepDetail Predictor::detail(const Degrees& d) {
  StepDetail out;
  out.prediction = predict(d);
  Tables& tables = *tables_;
  const StageTable& stages = tables.stages(stage_key(d));
  const KindRow* kinds = tables.kinds(d, d.recompute);
  const KindRow* plain = tables.kinds(d, plan::Recompute::kNone);
  const PlanShape shape = plan_shape(tables, d);
  const PipelineTime pipeline =
      pipeline_time({tables.paces.data(), stages.classes.size()}, shape.pipeline);
  out.num_micro_batches = tables.num_micro_batches(d);
  out.rest =
      out.prediction.step -
      shape.num_micro_batches * tables.times[static_cast<std::size_t>(pipeline.slowest)].total -
      out.prediction.part(Part::kBubble) - out.prediction.part(Part::kPipelineComm);

  std::vector<StageTime> times;
  std::vector<double> device;
  for (const StageClass& stage : stages.classes) {
    StageSums sums = sums_of(stage, kinds, plain, shape, tables.tied_parameters() / d.tp);
    keep(sums, stage, shape, d, tables);
    times.push_back(stage_time(sums.work, sharding_seconds(sums.work, shape, tables.options()),
                               copy_seconds(sums, shape, d, tables), {d.data_overlap, true},
                               tables.machine()));
    device.push_back(sums.work.sum.device());
  }
  const std::vector<int> starts =
      stage_starts(tables.model(), d.pp * d.interleave, tables.options().stages);
  const Machine& machine = tables.machine();
  const bool same_domain = d.num_ranks() <= machine.fabric.domain;
  const Wire copies = machine.wire(d.sequence_parallel ? 1 : d.tp, 1);
  for (int v = 0; v < d.pp * d.interleave; ++v) {
    const int first = starts[static_cast<std::size_t>(v)];
    const int end = starts[static_cast<std::size_t>(v) + 1];
    double own = 0;
    int blocks = 0;
    for (int i = first; i < end; ++i) {
      const int kind = tables.model().layers[static_cast<std::size_t>(i)];
      const bool block = tables.model().layer(i).role == model::LayerRole::kBlock;
      const int some = stages.key.recompute_blocks;
      own += (!block || some == 0 || blocks++ < some ? kinds : plain)[kind].time.device();
    }
    // A rank's time, host and sharding included, is its stages' in the measure of their work.
    const auto c = static_cast<std::size_t>(
        stages.class_of_rank[static_cast<std::size_t>(rank_of_stage(stages.key, v))]);
    const double share = device[c] > 0 ? own / device[c] : 0;
    const StageTime& time = times[c];
    StageDetail detail{share * (time.passes - time.backward), share * time.backward,
                       share * (time.total - time.passes), 0,
                       share * (time.tensor + time.context + time.expert + time.shard)};
    if (end > 0 && v + 1 < d.pp * d.interleave)
      detail.send =
          transfer_seconds(machine.fabric, same_domain,
                           kinds[tables.model().layers[static_cast<std::size_t>(end - 1)]].message,
                           copies, machine.parameters.host_transfer);
    out.stages.push_back(detail);
  }
  return out;
}

}  // namespace nereus::cost
