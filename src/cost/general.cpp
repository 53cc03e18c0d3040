#include "cost/general.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "cost/data.hpp"
#include "cost/general/ranks.hpp"
#include "cost/general/reduce.hpp"
#include "cost/general/transfers.hpp"
#include "cost/general/work.hpp"
#include "cost/stages.hpp"
#include "plan/expand.hpp"

namespace nereus::cost {

using namespace general;
using plan::LayerRun;
using plan::Replicas;

struct GeneralPredictor::Tables {
  Tables(const model::Model& m, const cluster::Cluster& cluster, const Stack& stack)
      : model(m), options(stack.options), wires(cluster, stack), costs(m, wires, options) {}

  const model::Model& model;
  StackOptions options;
  Wires wires;
  LayerCosts costs;
};

namespace {

// What the stack says of a step that several kinds of machine make together: in each respect the
// worst. It must not depend on which of them is the slowest, or a quicker machine could slow a
// step.
Parameters worst_of(const Context& context, std::size_t lane) {
  std::vector<int> kinds;
  const auto take = [&](const Lane& own) {
    for (const int kind : own.kinds)
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  };
  const bool alone = context.layout.lanes_run_through && !context.gathers_each();
  for (const PhysicalStage& stage : context.layout.stages)
    for (const Segment& segment : stage.segments) {
      if (alone)
        take(segment.lanes[lane]);
      else
        for (const Lane& own : segment.lanes) take(own);
    }
  Parameters worst = context.wires.machine(kinds.front()).parameters;
  for (const int kind : kinds) {
    const Parameters& p = context.wires.machine(kind).parameters;
    for (double Parameters::*more : {&Parameters::host_step, &Parameters::host_micro_batch,
                                     &Parameters::memory_pressure, &Parameters::transfer_stall})
      worst.*more = std::max(worst.*more, p.*more);
    for (double Parameters::*less :
         {&Parameters::data_overlap, &Parameters::zero_overlap, &Parameters::shard_overlap,
          &Parameters::pipeline_overlap, &Parameters::transfer_stall_devices,
          &Parameters::transfer_stall_memory})
      worst.*less = std::min(worst.*less, p.*less);
  }
  return worst;
}

// The part of a step that one lane decides.
Prediction lane_step(const Context& context, const std::vector<std::vector<LaneTime>>& stages,
                     std::size_t lane, Transfers& transfers, double reduce, double memory_share) {
  const PipelineShape& shape = context.layout.pipeline;
  std::vector<StagePace> paces;
  double quickest = std::numeric_limits<double>::infinity();
  double m = 0;
  Prediction out;
  for (const std::vector<LaneTime>& stage : stages) {
    out.busy += (stage[lane].all.compute + stage[lane].all.recompute) / shape.depth;
    paces.push_back(
        {stage[lane].one, stage[lane].total(), 1, stage[lane].passes, stage[lane].backward});
    quickest = std::min(quickest, reduction_window(paces.back(), shape));
    m = std::max(m, stage[lane].num_micro_batches);
  }
  const PipelineTime pipeline = pipeline_time(paces, shape);
  const LaneTime& slowest = stages[static_cast<std::size_t>(pipeline.slowest)][lane];
  const Parameters p = worst_of(context, lane);
  out.add(Part::kCompute, slowest.all.compute);
  out.add(Part::kRecompute, slowest.all.recompute);
  out.add(Part::kTensorComm, slowest.all.tensor);
  out.add(Part::kContextComm, slowest.all.context);
  out.add(Part::kExpertComm, slowest.all.expert);
  out.add(Part::kDataComm, slowest.all.shard);
  out.add(Part::kOffload, slowest.all.offload);
  out.add(Part::kLaunch, slowest.all.launch);
  out.add(Part::kPipelineComm, slowest.moved);
  if (shape.depth > 1) {
    out.add(Part::kBubble, pipeline.bubble);
    out.add(Part::kPipelineComm, transfers_seconds(transfers.of(lane, memory_share), shape, p));
  }
  out.add(Part::kDataComm,
          exposed_reduce(reduce, context.reduced_as(), quickest, shape.interleave,
                         later_chunks(shape, pipeline.own, m), context.placement.data_overlap, p));
  out.add(Part::kFixed, p.host_step + m * p.host_micro_batch);
  if (p.memory_pressure > 0 && memory_share > 0.9)
    out.add(Part::kFixed,
            p.memory_pressure * (std::min(memory_share, 1.1) - 0.9) * slowest.all.total);
  for (const double part : out.parts) out.step += part;
  return out;
}

}  // namespace

bool has_general_form(plan::Schedule schedule) {
  return schedule != plan::Schedule::kDualPipe && schedule != plan::Schedule::kVaruna;
}

GeneralPredictor::GeneralPredictor(const model::Model& model, const cluster::Cluster& cluster,
                                   const Stack& stack)
    : tables_(std::make_unique<Tables>(model, cluster, stack)) {}
GeneralPredictor::~GeneralPredictor() = default;
GeneralPredictor::GeneralPredictor(GeneralPredictor&&) noexcept = default;

Prediction GeneralPredictor::predict(const plan::Placement& placement) {
  Tables& tables = *tables_;
  Context context{placement,
                  tables.model,
                  tables.options,
                  tables.wires,
                  tables.costs,
                  read_layout(placement, tables.wires),
                  read_state(placement, tables.wires)};
  context.sharing = sharing_of(context.states);
  const Layout& layout = context.layout;
  NEREUS_CHECK(placement.runs.back().stage == 0 || has_general_form(placement.schedule),
               "schedules without a closed form are for the simulator");

  bool fits = false;
  const std::vector<RankLoad> loads = rank_loads(context);
  const Memory memory = worst_memory(context, loads, fits);
  const double memory_share = memory.total / memory.capacity;

  Work work(context);
  std::vector<std::vector<LaneTime>> stages;
  double reduce = 0;
  for (std::size_t i = 0; i < layout.stages.size(); ++i) {
    stages.push_back(work.stage(static_cast<int>(i)));
    reduce = std::max(reduce, stage_reduce_seconds(context, layout.stages[i]));
  }

  Transfers transfers(context);
  Prediction out;
  for (std::size_t lane = 0; lane < stages.front().size(); ++lane) {
    const Prediction own = lane_step(context, stages, lane, transfers, reduce, memory_share);
    if (lane == 0 || own.step > out.step) out = own;
  }
  out.memory = memory;
  out.fits = fits;

  if (layout.pipeline.depth > 1) out.add(Part::kDataComm, tied_seconds(context));
  double update = 0;
  double copied = 0;
  double peak = 0;
  for (std::size_t rank = 0; rank < loads.size(); ++rank) {
    if (!layout.used[rank]) continue;
    const Machine& machine = tables.wires.machine_at(static_cast<int>(rank));
    update = std::max(update, optimizer_seconds(loads[rank].updates, tables.options, machine));
    copied = std::max(copied, loads[rank].copied_seconds);
    peak += machine.device.peak_of(placement.precision).value;
  }
  out.add(Part::kOptimizer, update);
  out.busy += update;
  out.add(Part::kOffload, std::max(0.0, copied - update));

  out.step = 0;
  for (const double part : out.parts) out.step += part;
  out.model_flops = tables.model.training_flops() * static_cast<double>(placement.global_batch);
  out.mfu = peak > 0 ? out.model_flops / (out.step * peak) : 0;
  return out;
}

Prediction predict(const plan::Placement& placement, const model::Model& model,
                   const cluster::Cluster& cluster, const Stack& stack) {
  return GeneralPredictor(model, cluster, stack).predict(placement);
}

plan::Placement expand_for(const plan::Degrees& degrees, const model::Model& model,
                           const Stack& stack) {
  const std::vector<int> starts =
      stage_starts(model, degrees.pp * degrees.interleave, stack.options.stages);
  const bool none_empty = std::adjacent_find(starts.begin(), starts.end()) == starts.end();
  return none_empty ? plan::expand(degrees, model, starts) : plan::expand(degrees, model);
}

}  // namespace nereus::cost
