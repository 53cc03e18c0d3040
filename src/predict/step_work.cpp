#include "predict/step_work.hpp"

#include <algorithm>
#include <limits>

#include "predict/played.hpp"
#include "predict/predictor.hpp"
#include "predict/stage_sums.hpp"

namespace nereus::cost {

using plan::Degrees;

namespace {

// The work of one class of pipeline ranks for one micro-batch.
struct ClassWork {
  StageTime time;
  LayerTime sum;      // of its layers, which its virtual stages divide the time by
  double reduce = 0;  // seconds, once a step
  double again = 0;   // seconds of recompute as a pass of its own
  double held = 0;    // bytes
  double activation = 0;
};

// If recompute is a separate pass, or the order cannot be built: all in proportion to the device
// times.
PassSeconds varuna_passes(const LayerTime& own, const ClassWork& rank, bool split) {
  const double device = rank.sum.device();
  if (device <= 0) return {};
  // The time without weight gradients, and the rest, if they are separate.
  const double total = rank.time.total - rank.again;
  const double weights = rank.sum.weight_gradient;
  const double pace =
      split ? rank.time.passes / std::max(device - weights, 1e-300) : total / device;
  const double weight = split ? (weights > 0 ? (total - rank.time.passes) / weights : 0) : pace;
  const double input = own.device() - own.forward - own.recompute - own.weight_gradient;
  return {pace * own.forward, pace * own.recompute + rank.again * own.device() / device,
          pace * std::max(0.0, input), weight * own.weight_gradient};
}

ClassWork class_work(const StageClass& stage, const PlanShape& shape, const Degrees& d,
                     StageMode mode, const KindRow* kinds, const KindRow* plain,
                     const Tables& tables) {
  StageSums sums =
      sums_of(stage, kinds, plain, shape, tables.tied_parameters() / d.tp, !d.offload.none());
  keep(sums, stage, shape, d, tables);
  ClassWork out;
  out.time = time_of(stage, sums, plain, shape, d, mode, tables);
  out.sum = sums.work.sum;
  if (shape.pipeline.schedule == plan::Schedule::kVaruna) {
    // It recomputes in a pass of its own: what is left is as without recompute.
    StageWork once;
    for (const KindCount& layers : stage.layers) once.add(plain[layers.kind].time, layers.count);
    out.sum = once.sum;
    out.again = out.time.total - out.time.passes;
  }
  out.reduce = stage_reduce_seconds(sums.work.sum, shape, tables.options());
  const Parameters& p = tables.machine().parameters;
  const double flight = in_flight(shape.pipeline, stage.first, shape.num_micro_batches);
  const double on_device = sums.rank.at_peak - sums.rank.offloaded;
  out.held = total_of(memory_parts(sums.rank, tables.options(), p)) - on_device;
  out.activation = on_device / (flight * shape.pipeline.interleave);
  return out;
}

// The layers of one virtual stage summed up.
LayerTime own_of(const Tables& tables, const StageTable& stages, const KindRow* kinds,
                 const KindRow* plain, int first, int end) {
  StageWork own;
  int blocks = 0;
  for (int i = first; i < end; ++i) {
    const int kind = tables.model().layers[i];
    const bool block = tables.model().layer(i).role == model::LayerRole::kBlock;
    const int some = stages.key.recompute_blocks;
    own.add((!block || some == 0 || blocks++ < some ? kinds : plain)[kind].time, 1);
  }
  return own.sum;
}

}  // namespace

StepWork Predictor::work(const Degrees& d) {
  StepWork out;
  const Sketch whole = sketch(d, {});
  out.prediction = whole.prediction;
  Tables& tables = *tables_;
  const Machine& machine = tables.machine();
  const Parameters& p = machine.parameters;
  const StageTable& stages = tables.stages(stage_key(d));
  const KindRow* kinds = tables.kinds(d, d.recompute);
  const KindRow* plain = tables.kinds(d, plan::Recompute::kNone);
  const PlanShape shape = plan_shape(tables, d);
  std::vector<ClassWork> classes;
  const StageMode mode{d.data_overlap, d.pp > 1 && splits_backward(shape.pipeline.schedule)};
  for (const StageClass& stage : stages.classes)
    classes.push_back(class_work(stage, shape, d, mode, kinds, plain, tables));
  out.schedule = shape.pipeline.schedule;
  out.depth = d.pp;
  out.reduce_overlap = d.data_overlap ? reduction_overlap(shape.reduced_as(), p) : 0;
  const int domain = machine.fabric.domain;
  const Group data = group_of(d.dp * d.cp, d.tp, domain);
  out.wires = {d.tp * d.cp > domain, d.num_ranks() > domain, data.per_node < data.size};
  out.reduces_last = mode.splits_backward;
  const auto class_of = [&](int rank) -> const ClassWork& {
    return classes[stages.class_of_rank[rank]];
  };
  const bool dual = stages.key.order == StageOrder::kDual;
  const bool varuna = out.schedule == plan::Schedule::kVaruna;
  for (int rank = 0; rank < d.pp; ++rank) {
    const ClassWork& own = class_of(dual ? std::min(rank, d.pp - 1 - rank) : rank);
    out.held.push_back(own.held);
    out.activation.push_back(own.activation);
  }

  LaneWork lane;
  lane.ranks_per_team = d.tp * d.cp;
  lane.send_overlap = p.pipeline_overlap;
  lane.num_micro_batches = tables.num_micro_batches(d);
  lane.reduced_each = whole.reduced_each;
  for (int team = 0; team < d.dp; ++team) {
    std::vector<int>& ranks = lane.ranks.emplace_back();
    for (int rank = 0; rank < d.pp; ++rank)
      ranks.push_back((rank * d.dp + team) * lane.ranks_per_team);
  }
  const int num_stages = d.pp * d.interleave;
  const std::vector<int> starts = stage_starts(tables.model(), num_stages, tables.options().stages);
  std::vector<double> parameters(static_cast<std::size_t>(d.pp));  // by pipeline rank
  std::vector<PassSeconds> alone;                                  // by virtual stage
  std::vector<PassSeconds> rank_alone(static_cast<std::size_t>(d.pp));
  for (std::size_t v = 0; v < stages.chunk_of_stage.size(); ++v) {
    const ChunkClass& chunk = stages.chunks[stages.chunk_of_stage[v]];
    const auto own = static_cast<std::size_t>(chunk.rank_class);
    alone.push_back(passes_alone(own_of(tables, stages, kinds, plain, starts[v], starts[v + 1]),
                                 chunk.work, stages.work[own], classes[own].sum, out.reduces_last,
                                 machine));
    add(rank_alone[rank_of_stage(stages.key, static_cast<int>(v))], alone.back());
  }
  for (int v = 0; v < num_stages; ++v) {
    const int first = starts[v];
    const int end = starts[static_cast<std::size_t>(v) + 1];
    const int rank = rank_of_stage(stages.key, v);
    const ClassWork& own = class_of(rank);
    const LayerTime layers = own_of(tables, stages, varuna ? plain : kinds, plain, first, end);
    const double own_parameters = layers.parameters + layers.expert_parameters;
    out.rank_of_stage.push_back(dual ? v : rank);
    lane.passes.push_back(varuna || alone.empty() ? varuna_passes(layers, own, out.reduces_last)
                                                  : pass_seconds(layers, alone[v], rank_alone[rank],
                                                                 own.time.total, out.reduces_last));
    const StageTime& time = own.time;
    lane.communication.push_back(
        time.total > 0 ? (time.tensor + time.context + time.expert + time.shard) / time.total : 0);
    parameters[rank] += own_parameters;
    out.reduce.push_back(own.reduce * own_parameters);
    lane.send.push_back(end > 0 && v + 1 < num_stages
                            ? boundary_seconds(tables, kinds, d, tables.model().layers[end - 1])
                            : 0);
  }
  for (int v = 0; v < num_stages; ++v) {
    const double all = parameters[rank_of_stage(stages.key, v)];
    if (all > 0) out.reduce[v] /= all;
  }
  out.lanes.push_back(std::move(lane));

  out.closing = out.prediction.step - whole.pipeline;
  return out;
}

}  // namespace nereus::cost
