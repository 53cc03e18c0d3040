// The properties that all stages of a regular plan share: the pipeline, and how state is sharded.
//
// The dense weights of a tensor slice are on dp x cp ranks, tp apart. An expert slice is on its
// data group, whose ranks are ep x expert_tp apart. ZeRO 1 shards the optimizer state, 2 also
// gradients, 3 also weights, over zero_group neighbors of the group (all of it by default). Under a
// pipeline, weights are gathered once per step and kept, and gradients stay whole; without one,
// ZeRO-2 reduces them in every micro-batch if the stack does (Zero2Rule). DualPipe keeps
// every stage on two pipeline ranks; here the pair counts as one, with half of the micro-batches.
//
//   const PlanShape shape = plan_shape(tables, degrees);
//   parameters / shape.dense_shards.optimizer;          // parameters that each rank keeps
#pragma once

#include "cost/data_parallel.hpp"
#include "cost/pipeline_time.hpp"
#include "plan/degrees.hpp"
#include "predict/predictor_tables.hpp"

namespace nereus::cost {

// The number of ranks over which each kind of state is sharded. Dense layers and experts each have
// their own Shards.
struct Shards {
  double weights = 1;
  double gradients = 1;
  double optimizer = 1;
};

struct PlanShape {
  PipelineShape pipeline;
  int num_micro_batches = 1;
  Sharing sharing = Sharing::kCopies;
  bool keeps_whole = false;  // sharded weights are gathered once per step
  // Gradients are sharded, weights are whole, and every micro-batch is reduced (ZeRO-2).
  bool reduces_each = false;
  bool gathers_forward = false;  // and gathers weights before its forward pass
  bool has_experts = false;
  Division dense;
  Division experts;
  Shards dense_shards;
  Shards expert_shards;

  bool gathers_each() const { return sharing == Sharing::kWeights && !keeps_whole; }
  // Weights that are gathered once per step need the same collectives as a sharded optimizer.
  Sharing reduced_as() const {
    if (gathers_forward) return Sharing::kWeights;
    return sharing == Sharing::kWeights && keeps_whole ? Sharing::kOptimizer : sharing;
  }
};

PlanShape plan_shape(const Tables& tables, const plan::Degrees& degrees);

// Time to send one activation to the next stage, if the last layer before the boundary is of this
// `kind`.
double boundary_seconds(const Tables& tables, const KindRow* kinds, const plan::Degrees& degrees,
                        int kind);
// The messages between stages in a step.
TransferLoad plan_load(const Tables& tables, const KindRow* kinds, const StageTable& stages,
                       const PlanShape& shape, const plan::Degrees& degrees, double memory_share);

}  // namespace nereus::cost
