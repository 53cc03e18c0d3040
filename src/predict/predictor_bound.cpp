// Lower bounds for all plans of a family (predict/predictor.hpp).
//
//   any schedule            step >= m max(device, host) / p       a rank has at least the mean work
//   with the schedule       step >= the pipeline's closed form of its stages without recompute,
//                           sharding, copies from the host or reduction, plus its transfers; or, if
//                           less, the lower bound of its simulated passes (predict/played.hpp)
//
// Both follow from properties of cost/stage_time.hpp and cost/pipeline_time.hpp: everything that is
// left out only adds time to a stage, and a longer stage never makes a step shorter.
#include <algorithm>

#include "base/error.hpp"
#include "predict/plan_play.hpp"
#include "predict/plan_shape.hpp"
#include "predict/predictor.hpp"

namespace nereus::cost {

using plan::Degrees;
using plan::Recompute;
using plan::Schedule;

namespace {

// Tables that lie elsewhere are slower to look up.
Degrees on_device(Degrees d) {
  d.offload = {};
  return d;
}

}  // namespace

Predictor::Bound Predictor::bound(const Degrees& given) {
  Tables& tables = *tables_;
  const Degrees d = on_device(given);
  const KindRow* kinds = tables.kinds(d, Recompute::kNone);
  LayerTime sum;
  for (std::size_t kind = 0; kind < tables.model().kinds.size(); ++kind) {
    const double count = tables.layers_of_kind(kind);
    sum.compute += count * kinds[kind].time.compute;
    sum.tensor += count * kinds[kind].time.tensor;
    sum.context += count * kinds[kind].time.context;
    sum.expert += count * kinds[kind].time.expert;
    sum.host += count * kinds[kind].time.host;
  }
  const Parameters& p = tables.machine().parameters;
  const double m = tables.num_micro_batches(d);
  return {m * std::max(sum.device(), sum.host) / d.pp + p.host_step, m * sum.compute / d.pp};
}

Predictor::Bound Predictor::bound_of_schedule(const Degrees& given) {
  Tables& tables = *tables_;
  const Degrees d = on_device(given);
  StageKey key = stage_key(d);
  key.recompute_blocks = 0;
  key.plain_last = false;
  const StageTable& stages = tables.stages(key);
  const KindRow* kinds = tables.kinds(d, Recompute::kNone);
  const PlanShape shape = plan_shape(tables, d);
  const StageMode mode{true, d.pp > 1 && splits_backward(d.schedule)};
  const double m = shape.num_micro_batches;
  TransferLoad load;
  if (d.pp > 1) load = plan_load(tables, kinds, stages, shape, d, 0);
  for (std::size_t i = 0; i < stages.classes.size(); ++i) {
    StageWork work;
    for (const KindCount& layers : stages.classes[i].layers)
      work.add(kinds[layers.kind].time, layers.count);
    const StageTime time = stage_time(work, 0, 0, mode, tables.machine());
    tables.times[i] = time;
    tables.paces[i] = {time.total, m * time.total, stages.classes[i].multiplicity,
                       shape.pipeline.schedule == Schedule::kVaruna ? time.total : time.passes,
                       time.backward};
    if (d.pp > 1)
      add_sends(tables.paces[i], stages.classes[i].sends, load, shape.pipeline,
                tables.machine().parameters);
  }
  const PipelineTime pipeline =
      pipeline_time({tables.paces.data(), stages.classes.size()}, shape.pipeline);
  const auto slowest = static_cast<std::size_t>(pipeline.slowest);
  const Parameters& p = tables.machine().parameters;
  double whole = tables.paces[slowest].all;
  if (d.pp > 1) {
    whole += pipeline.bubble + pipeline.sends + crossing_seconds(load);
    if (!stages.chunks.empty() &&
        can_play(d.schedule, {d.pp, d.interleave, tables.num_micro_batches(d)}))
      whole =
          std::min(whole, (1 + near_of(d.schedule)) * least_play(tables, kinds, stages, shape, d));
    whole += stall_seconds(load, shape.pipeline, p);
  }
  // The prediction adds up the same in another order.
  Bound bound{(whole + p.host_step + m * p.host_micro_batch) * (1 - kPlayRounding), 0};
  for (std::size_t i = 0; i < stages.classes.size(); ++i)
    bound.busy +=
        stages.classes[i].multiplicity * m * tables.times[i].compute / shape.pipeline.depth;
  return bound;
}

bool Predictor::memory_slows(const Prediction& prediction) const {
  const Parameters& p = tables_->machine().parameters;
  const double share = prediction.memory.total / prediction.memory.capacity;
  return (p.memory_pressure > 0 && share > 0.9) ||
         (p.transfer_stall > 0 && share > p.transfer_stall_memory);
}

}  // namespace nereus::cost
