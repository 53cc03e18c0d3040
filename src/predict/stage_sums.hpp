// The sums over one class of stages of a regular plan: its work, what its ranks keep, and what it
// adds once per step.
//
//   StageSums sums = sums_of(stage, kinds, plain, shape, tied, false);
//   keep(sums, stage, shape, degrees, tables);
//   StageTime time = stage_time(sums.work, sharding_seconds(sums.work, shape, options), ...);
#pragma once

#include "predict/plan_shape.hpp"
#include "predict/predictor_tables.hpp"

namespace nereus::cost {

// Sums and maxima over the layers of a stage.
struct StageSums {
  StageWork work;
  RankMemory rank;
  double largest_divided = 0;  // parameters of the largest layer that is gathered
  double largest_kept = 0;     // parameters of the largest layer that the rank keeps
  double copied_weights = 0;   // bytes of offloaded weights that are copied in for each pass
  // Number of layers with weights, and of layers with kept activations; only counted if the plan
  // offloads.
  int layers_with_weights = 0;
  int layers_with_kept = 0;
};

// `kinds` are the layers recomputed as the plan says, `plain` the layers without recompute. A rank
// with both ends of a tied weight keeps the `tied` parameters once.
StageSums sums_of(const StageClass& stage, const KindRow* kinds, const KindRow* plain,
                  const PlanShape& shape, double tied, bool offloads);
// Fills in the state and activations that the stage's ranks keep.
void keep(StageSums& sums, const StageClass& stage, const PlanShape& shape,
          const plan::Degrees& degrees, const Tables& tables);
// The time and bytes that embedding tables add to a step of the plan; zero if the model has none.
TableStep table_step_of(const plan::Degrees& degrees, const Tables& tables);
// Time to copy one micro-batch from and to the plan's offload tier: weights for both passes if they
// are not kept for the step, activations out and back in. Each layer is one transfer.
double copy_seconds(const StageSums& sums, const PlanShape& shape, const plan::Degrees& degrees,
                    const Tables& tables);
// Time to copy, once per step, while `updates` parameters are updated: the offloaded part of their
// optimizer state and weights, in and out at the same time; gradients out and weights in if the
// host updates them.
double update_copy_seconds(const StageSums& sums, double updates, const plan::Degrees& degrees,
                           const Tables& tables);
double sharding_seconds(const StageWork& work, const PlanShape& shape, const StackOptions& options);
// One stage's time for one micro-batch. Under Varuna, `passes` is the time without recompute, and
// `backward` is `passes` without copies.
StageTime time_of(const StageClass& stage, const StageSums& sums, const KindRow* plain,
                  const PlanShape& shape, const plan::Degrees& degrees, StageMode mode,
                  const Tables& tables);
// Seconds of the reduction, once per step, of the state that is not gathered and scattered in every
// micro-batch.
double stage_reduce_seconds(const LayerTime& sum, const PlanShape& shape,
                            const StackOptions& options);
// Seconds of the reduction in every micro-batch but the last (ZeRO-2); 0 if there is none.
double stage_reduce_each_seconds(const LayerTime& sum, const PlanShape& shape,
                                 const StackOptions& options);

}  // namespace nereus::cost
