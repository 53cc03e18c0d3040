#include "predict/predictor.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "predict/plan_play.hpp"
#include "predict/stage_sums.hpp"

namespace nereus::cost {

using plan::Degrees;

namespace {

// Keeps the worst stage's memory.
void take_memory(Memory& worst, const RankMemory& rank, int stage, const Tables& tables) {
  const MemoryParts parts = memory_parts(rank, tables.options(), tables.machine().parameters);
  const double total = total_of(parts);
  if (stage == 0) worst.first_rank_allocated = allocated_of(parts);
  worst.beyond = std::max(worst.beyond, rank.tiers[static_cast<std::size_t>(worst.beyond_tier)]);
  if (total <= worst.total) return;
  worst.total = total;
  worst.parts = parts;
  worst.worst_stage = stage;
}

// A stage's time, from a cache if only its layers decide it.
StageTime known_time_of(const StageClass& stage, const StageSums& sums, const KindRow* kinds,
                        const KindRow* plain, const PlanShape& shape, const Degrees& d,
                        StageMode mode, Tables& tables) {
  const bool varuna = shape.pipeline.schedule == plan::Schedule::kVaruna;
  StageTimeMemo::Entry* entry = nullptr;
  if (!shape.gathers_each() && d.offload.none() && !varuna)
    entry = tables.stage_times.at(kinds, &stage);
  if (entry == nullptr) return time_of(stage, sums, plain, shape, d, mode, tables);
  if (entry->kinds != kinds || entry->stage != &stage ||
      entry->splits_backward != mode.splits_backward)
    *entry = {kinds, &stage, mode.splits_backward,
              time_of(stage, sums, plain, shape, d, mode, tables)};
  return entry->time;
}

// What happens once per step, on the stage where it takes longest.
struct StepSums {
  double quickest = std::numeric_limits<double>::infinity();  // seconds that hide the reduction
  double reduce = 0;                                          // seconds
  double first_reduce = 0;                                    // of the first stage
  double optimized = 0;                                       // parameters that a rank updates
  double hosted = 0;                                          // part of them that its host updates
  double copied = 0;  // seconds in which state passes from and to its tier during the update
  double most_parameters = -1;
};

void take_step(StepSums& step, const StageSums& sums, double window, const PlanShape& shape,
               const Degrees& d, const Tables& tables) {
  const StackOptions& options = tables.options();
  const LayerTime& sum = sums.work.sum;
  step.quickest = std::min(step.quickest, window);
  // Collectives are dear to compute: without experts the stage with the most parameters decides.
  if (shape.has_experts || sum.parameters > step.most_parameters) {
    step.reduce = std::max(step.reduce, stage_reduce_seconds(sum, shape, options));
    step.most_parameters = sum.parameters;
  }
  const double updates = sum.parameters / shape.dense_shards.optimizer +
                         sum.expert_parameters / shape.expert_shards.optimizer;
  const double hosted = host_updates(d.offload.tier, options) ? updates * d.offload.optimizer : 0;
  step.optimized = std::max(step.optimized, updates);
  step.hosted = std::max(step.hosted, hosted);
  step.copied = std::max(step.copied, update_copy_seconds(sums, updates, d, tables));
}

void add_step(Prediction& out, const StepSums& step, const Degrees& d, const Tables& tables) {
  const Machine& machine = tables.machine();
  const StackOptions& options = tables.options();
  const bool ends_apart = d.pp > 1 && stage_order(d.schedule) == StageOrder::kLooped;
  if (ends_apart && tables.tied_parameters() > 0) {
    const Group pair{2, d.num_ranks() <= machine.fabric.domain ? 2 : 1};
    out.add(Part::kDataComm,
            all_reduce_seconds(machine.fabric, pair,
                               tables.tied_parameters() / d.tp * options.reduce_bytes));
  }
  const double update = optimizer_seconds(step.optimized, options, machine, d.precision);
  out.add(Part::kOptimizer, update);
  if (tables.has_tables()) {
    const TableStep rows = table_step_of(d, tables);
    out.add(Part::kDataComm, rows.exchange);
    out.add(Part::kOptimizer, rows.update);
    out.busy += rows.update;
  }
  out.busy += update;
  const double hosted = host_update_seconds(step.hosted, options, machine);
  out.add(Part::kOffload, std::max(0.0, std::max(step.copied, hosted) - update));
}

// A regular plan with what its tables hold.
struct PlanOf {
  const KindRow* kinds;
  const KindRow* plain;
  const StageTable& stages;
  const PlanShape& shape;
  const Degrees& degrees;
};

// The closed form of a pipeline, corrected towards the simulation as far as necessary. Lower bounds
// are known before the simulation, the cheapest one first. If `counts(seconds)` is false for one of
// them, that bound is returned, with `exact` = false.
template <class Counts>
double near_its_play(const ClosedForm& formula, const PlanOf& plan, const StepReduction& reduction,
                     Tables& tables, const Counts& counts, bool& exact) {
  const Degrees& d = plan.degrees;
  const bool copies = copies_state(d);
  exact = false;
  double least = formula.seconds;
  if (!copies) {
    double busiest = 0;
    for (std::size_t i = 0; i < plan.stages.classes.size(); ++i)
      busiest = std::max(busiest, tables.paces[i].all);
    least = std::min(least, busiest * (1 + near_of(d.schedule)) * (1 - kPlayRounding));
  }
  if (!counts(least)) return least;
  PlanPasses& passes = plan_passes(tables, plan.kinds, plan.plain, plan.stages, plan.shape, d);
  exact = is_near(formula, passes, reduction, copies);
  if (exact) return formula.seconds;
  least = near_floor(formula.seconds, passes, reduction, copies);
  if (!counts(least)) return least;
  exact = true;
  for (std::size_t i = 0; i < plan.stages.classes.size(); ++i)
    tables.reduces[i] = stage_reduce_seconds(tables.layers[i], plan.shape, tables.options());
  return near_play(formula, play(passes, plan.plain, d, reduction.overlap, tables), passes.near,
                   copies, passes.alike);
}

}  // namespace

Predictor::Predictor(const model::Model& model, const cluster::Cluster& cluster, const Basis& basis,
                     int num_splits)
    : tables_(std::make_unique<Tables>(model, cluster, basis, num_splits)) {}
Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;

Prediction Predictor::predict(const Degrees& d) { return sketch(d, {}).prediction; }

Predictor::Sketch Predictor::sketch(const Degrees& d, const Counts& counts) {
  Tables& tables = *tables_;
  const StageTable& stages = tables.stages(stage_key(d));
  const KindRow* kinds = tables.kinds(d, d.recompute);
  const bool some = stages.key.recompute_blocks > 0 || stages.key.plain_last;
  const KindRow* plain = some ? tables.kinds(d, plan::Recompute::kNone) : kinds;
  const PlanShape shape = plan_shape(tables, d);

  Sketch answer;
  Prediction out;  // without the pipeline's waits
  out.memory.capacity = tables.machine().capacity();
  out.memory.beyond_tier = d.offload.tier;
  out.memory.beyond_capacity = tables.machine().tier(d.offload.tier).capacity;
  StepSums step;
  const StageMode mode{d.data_overlap, d.pp > 1 && splits_backward(d.schedule)};
  for (std::size_t i = 0; i < stages.classes.size(); ++i) {
    const StageClass& stage = stages.classes[i];
    StageSums sums =
        sums_of(stage, kinds, plain, shape, tables.tied_parameters() / d.tp, !d.offload.none());
    keep(sums, stage, shape, d, tables);
    take_memory(out.memory, sums.rank, stage.first, tables);
    const StageTime time = known_time_of(stage, sums, kinds, plain, shape, d, mode, tables);
    tables.times[i] = time;
    tables.layers[i] = sums.work.sum;
    tables.paces[i] = {time.total, shape.num_micro_batches * time.total, stage.multiplicity,
                       time.passes, time.backward};
    out.busy += (time.compute + time.recompute) * shape.num_micro_batches * stage.multiplicity /
                shape.pipeline.depth;
    take_step(step, sums, reduction_window(tables.paces[i], shape.pipeline), shape, d, tables);
    if (i == 0) step.first_reduce = step.reduce;
  }
  out.fits =
      out.memory.total <= out.memory.capacity && out.memory.beyond <= out.memory.beyond_capacity;

  TransferLoad load;
  if (d.pp > 1) {
    load = plan_load(tables, kinds, stages, shape, d, out.memory.total / out.memory.capacity);
    for (std::size_t i = 0; i < stages.classes.size(); ++i)
      add_sends(tables.paces[i], stages.classes[i].sends, load, shape.pipeline,
                tables.machine().parameters);
  }
  const PipelineTime pipeline =
      pipeline_time({tables.paces.data(), stages.classes.size()}, shape.pipeline);
  const Parameters& p = tables.machine().parameters;
  const int m = shape.num_micro_batches;
  out.add(Part::kFixed, p.host_step + m * p.host_micro_batch);
  add_stage(out, tables.times[pipeline.slowest], m, out.memory.total / out.memory.capacity, p);
  const double all = tables.paces[pipeline.slowest].all;
  out.add(Part::kFixed, straggler_seconds(all, d.num_ranks(), p));
  const double later = later_chunks(shape.pipeline, pipeline.own, shape.num_micro_batches);
  ReductionWindow window{kBackward * step.quickest, kBackward * later};
  if (d.pp == 1)
    window = one_stage_window(step.quickest, forward_alone(tables.layers[0], tables.machine()));
  double exposed = exposed_reduce(step.reduce, shape.reduced_as(), window,
                                  shape.pipeline.interleave, d.data_overlap, p);
  if (shape.reduces_each) {
    const double each = stage_reduce_each_seconds(tables.layers[0], shape, tables.options());
    answer.reduced_each = exposed_reduce(each, Sharing::kWeights, window, 1, d.data_overlap, p);
    exposed += (m - 1) * answer.reduced_each;
  }
  out.model_flops = tables.flops_per_sample() * d.global_batch;
  const double peak = tables.machine().device.peak_of(d.precision).value;
  if (d.pp > 1) out.add(Part::kPipelineComm, stall_seconds(load, shape.pipeline, p));
  add_step(out, step, d, tables);

  double sent = 0;
  const auto with_pipeline = [&](double whole) {
    Prediction with = out;
    add_waits(with, whole - all, exposed, sent);
    for (const double part : with.parts) with.step += part;
    with.mfu = peak > 0 ? with.model_flops / (with.step * peak * d.num_ranks()) : 0;
    return with;
  };
  answer.pipeline = all + exposed;
  if (d.pp > 1) {
    sent = pipeline.sends + crossing_seconds(load);
    const double beside =
        d.data_overlap && !mode.splits_backward ? reduction_overlap(shape.reduced_as(), p) : 0;
    answer.pipeline = near_its_play(
        {answer.pipeline + pipeline.bubble + sent, all + step.reduce + pipeline.bubble + sent},
        {kinds, plain, stages, shape, d}, {step.first_reduce, step.reduce, beside}, tables,
        [&](double whole) { return !counts || counts(with_pipeline(whole)); }, answer.exact);
  }
  answer.prediction = with_pipeline(answer.pipeline);
  return answer;
}

}  // namespace nereus::cost
