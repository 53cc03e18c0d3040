// One layer for one micro-batch on one rank: its kernels (cost/kernel_time.hpp) and its
// collectives.
//
//   tensor    a region that tensor parallelism divides sums its output forward and its input
//             gradient backward: one all-reduce each (Shoeybi 2019); under sequence parallelism
//             all-gather in and reduce-scatter out, mirrored backward, and the input gathered once
//             more for the weight gradient (Korthikanti 2022)
//   context   ring attention passes keys and values round while it computes on the last piece (Liu
//             2023): exposed = max(share r, r - attention) with r the time round the ring, forward;
//             backward passes gradients too (2 r) and has twice the kernels' time to hide them.
//             All-to-all (Jacobs 2023) trades sequence for heads: queries, keys and values before
//             attention, its output after, nothing hidden; backward the same
//   expert    tokens to their experts and back: two all-to-alls forward, two backward; where
//             experts are cut themselves, the tokens are gathered among the parts and their outputs
//             summed, mirrored backward
//   tables    indices to the ranks that have the tables, pooled vectors back, gradients the same
//             way (cost/embedding.hpp); layers between the tables and the first that reads them run
//             beside the last two
//
// Monotone: quicker attention by x exposes at most x more forward and at most as much backward as
// the backward kernels got quicker, so the layer as a whole never gets slower.
//
// Times that were measured stand in for the kernels' and, where they hold them, the collectives'
// (cost/measured.hpp).
//
//   KindCost cost = kind_cost(kind, kernels, split, wires);
#pragma once

#include "cost/kernel_time.hpp"
#include "cost/machine_rates.hpp"
#include "model/model.hpp"

namespace nereus::cost {

// Costs of one layer kind under one split. Times in seconds of one micro-batch.
struct KindCost {
  LayerCost cost;
  double tensor_forward = 0;
  double tensor_backward = 0;
  int collectives_forward = 0;
  int collectives_backward = 0;
  double expert_forward = 0;   // backward takes the same
  double context_forward = 0;  // exposed
  double context_backward = 0;
  double ring_bytes = 0;      // of keys and values on this rank, which go round forward
  double exchange_bytes = 0;  // that this rank trades forward, sequence for heads
  double table_indices = 0;   // seconds of the tables' exchanges, nothing hidden
  double table_vectors = 0;
  double table_forward = 0;  // exposed
  double table_backward = 0;
  bool whole = false;  // measured times, which hold launches and accumulation too
};

// The groups that one layer's collectives run in.
struct LayerWires {
  Wire tensor;
  Wire context;
  Wire experts;
  Wire expert_parts;  // ranks that hold parts of the same experts
};

// What decides costs: the kind of slices is of no effect where there is one.
inline plan::ContextKind context_of(int cp, plan::ContextKind kind) {
  return cp > 1 ? kind : plan::ContextKind::kZigzag;
}

// Costs of all kinds of a model; `row` has room for them.
void model_costs(const model::Model& model, const KernelModel& kernels, const LayerSplit& split,
                 const LayerWires& wires, KindCost* row);

KindCost kind_cost(const model::LayerKind& kind, const KernelModel& kernels,
                   const LayerSplit& split, const LayerWires& wires);

}  // namespace nereus::cost
