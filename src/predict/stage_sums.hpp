// One class of stages of a regular plan summed up: its work, what its ranks keep, and what it adds
// to a step once.
//
//   StageSums sums = sums_of(stage, kinds, plain, shape, tied, false);
//   keep(sums, stage, shape, degrees, tables);
//   StageTime time = stage_time(sums.work, sharding_seconds(sums.work, shape, options), ...);
#pragma once

#include "predict/plan_shape.hpp"
#include "predict/predictor_tables.hpp"

namespace nereus::cost {

// Its layers summed up, and the largest of them.
struct StageSums {
  StageWork work;
  RankMemory rank;
  double largest_divided = 0;  // parameters of the largest layer that are gathered
  double largest_kept = 0;     // parameters of the largest layer that the rank keeps
  double copied_weights = 0;   // bytes of weights that come from beyond the device for each pass
  // Layers with weights, with activations kept; counted where the plan offloads any.
  int layers_with_weights = 0;
  int layers_with_kept = 0;
};

// `kinds` are layers recomputed as the plan says, `plain` those that are not; `tied` parameters
// that a rank with both ends keeps once.
StageSums sums_of(const StageClass& stage, const KindRow* kinds, const KindRow* plain,
                  const PlanShape& shape, double tied, bool offloads);
// Fills in what the stage's ranks keep of state and activations.
void keep(StageSums& sums, const StageClass& stage, const PlanShape& shape,
          const plan::Degrees& degrees, const Tables& tables);
// What embedding tables add to a step of the plan; nothing where the model has none.
TableStep table_step_of(const plan::Degrees& degrees, const Tables& tables);
// Copies of one micro-batch from and to the plan's memory tier: weights for both passes where they
// are not kept for the step, activations out and in again; a transfer for each layer.
double copy_seconds(const StageSums& sums, const PlanShape& shape, const plan::Degrees& degrees,
                    const Tables& tables);
// The same once a step, while `updates` parameters are updated: what is offloaded of their
// optimizer state and weights, in and out at once.
double update_copy_seconds(const StageSums& sums, double updates, const plan::Degrees& degrees,
                           const Tables& tables);
double sharding_seconds(const StageWork& work, const PlanShape& shape, const StackOptions& options);
// One stage's time for one micro-batch; under Varuna also without its recompute, as `passes`, and
// without its copies, as `backward`.
StageTime time_of(const StageClass& stage, const StageSums& sums, const KindRow* plain,
                  const PlanShape& shape, const plan::Degrees& degrees, StageMode mode,
                  const Tables& tables);
// Once a step: what is not gathered and scattered in every micro-batch.
double stage_reduce_seconds(const LayerTime& sum, const PlanShape& shape,
                            const StackOptions& options);

}  // namespace nereus::cost
