#include "predict/general/general_predictor.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cost/data_parallel.hpp"
#include "plan/expand.hpp"
#include "predict/general/lane_step.hpp"
#include "predict/general/reduce.hpp"
#include "predict/general/table_step.hpp"
#include "predict/general/team_tables.hpp"
#include "predict/general/teams.hpp"
#include "predict/stage_classes.hpp"

namespace nereus::cost {

using namespace general;

bool has_general_form(plan::Schedule schedule) {
  return schedule != plan::Schedule::kDualPipe && schedule != plan::Schedule::kVaruna;
}

GeneralPredictor::GeneralPredictor(const model::Model& model, const cluster::Cluster& cluster,
                                   const Basis& basis)
    : tables_(std::make_unique<Tables>(model, cluster, basis)) {}
GeneralPredictor::~GeneralPredictor() = default;
GeneralPredictor::GeneralPredictor(GeneralPredictor&&) noexcept = default;

Prediction GeneralPredictor::predict(const plan::Placement& placement) {
  Tables& tables = *tables_;
  Context context = tables.context_of(placement);
  const Layout& layout = context.layout;
  NEREUS_CHECK(placement.runs.back().stage == 0 || has_general_form(placement.schedule),
               "schedules without a closed form are for the simulator");

  bool fits = false;
  const std::vector<RankLoad> loads = rank_loads(context);
  const Memory memory = worst_memory(context, loads, fits);
  const double memory_share = memory.total / memory.capacity;

  Work work(context);
  std::vector<std::vector<LaneTime>> stages;
  for (std::size_t i = 0; i < layout.stages.size(); ++i)
    stages.push_back(work.stage(static_cast<int>(i)));
  const Reductions reductions = reductions_of(context);

  Transfers transfers(context);
  Prediction out;
  for (std::size_t lane = 0; lane < stages.front().size(); ++lane) {
    const Prediction own =
        lane_step(context, work, stages, lane, transfers, reductions, memory_share).prediction;
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
    update = std::max(update, optimizer_seconds(loads[rank].updates, tables.options, machine,
                                                placement.precision));
    copied = std::max({copied, loads[rank].copied_seconds,
                       host_update_seconds(loads[rank].host_updates, tables.options, machine)});
    peak += machine.device.peak_of(placement.precision).value;
  }
  out.add(Part::kOptimizer, update);
  out.busy += update;
  for (std::size_t run = 0; run < placement.runs.size(); ++run) {
    const TableStep rows = table_step_of(context, static_cast<int>(run));
    out.add(Part::kDataComm, rows.exchange);
    out.add(Part::kOptimizer, rows.update);
    out.busy += rows.update;
  }
  out.add(Part::kOffload, std::max(0.0, copied - update));

  out.step = 0;
  for (const double part : out.parts) out.step += part;
  out.model_flops = tables.model.training_flops() * static_cast<double>(placement.global_batch);
  out.mfu = peak > 0 ? out.model_flops / (out.step * peak) : 0;
  return out;
}

std::vector<GeneralPredictor::RankBytes> GeneralPredictor::memory_by_rank(
    const plan::Placement& placement) {
  Context context = tables_->context_of(placement);
  const std::vector<RankLoad> loads = rank_loads(context);
  std::vector<RankBytes> out(loads.size());
  for (std::size_t rank = 0; rank < loads.size(); ++rank) {
    const Machine& machine = tables_->wires.machine_at(static_cast<int>(rank));
    out[rank].capacity = machine.capacity();
    if (context.layout.used[rank])
      out[rank].total =
          total_of(memory_parts(loads[rank].memory, tables_->options, machine.parameters));
  }
  return out;
}

std::vector<double> GeneralPredictor::layer_seconds(const plan::Placement& placement) {
  Context context = tables_->context_of(placement);
  std::vector<double> seconds;
  for (const plan::LayerRun& run : placement.runs) {
    const plan::Replicas& r = run.replicas.front();
    const int machine = tables_->wires.kind_of(r.first);
    const TeamCosts costs = tables_->costs.of(placement, run, r, 0, machine, r.micro_batch);
    const StageRules rules = stage_rules(
        tables_->wires.machine(machine), tables_->options, tables_->wires[costs.tensor_wire],
        placement.tensor_overlap, context.pipelined_across_nodes());
    for (int i = 0; i < run.num_layers; ++i) {
      const int kind = tables_->model.layers[run.first_layer + i];
      const bool block = tables_->model.kinds[kind].role == model::LayerRole::kBlock;
      seconds.push_back(layer_time(costs.of(kind), block, recompute_at(r, i), rules).device());
    }
  }
  return seconds;
}

Prediction predict(const plan::Placement& placement, const model::Model& model,
                   const cluster::Cluster& cluster, const Basis& basis) {
  return GeneralPredictor(model, cluster, basis).predict(placement);
}

plan::Placement expand_for(const plan::Degrees& degrees, const model::Model& model,
                           const Stack& stack) {
  const std::vector<int> starts =
      stage_starts(model, degrees.pp * degrees.interleave, stack.options.stages);
  const bool none_empty = std::adjacent_find(starts.begin(), starts.end()) == starts.end();
  return none_empty ? plan::expand(degrees, model, starts) : plan::expand(degrees, model);
}

}  // namespace nereus::cost
