// One layer for one micro-batch on one rank: its kernels (cost/kernel_time.hpp) and its
// collectives.
//
//   tensor    a region split by tensor parallelism all-reduces its output in the forward pass and
//             its input gradient in the backward pass (Shoeybi 2019). With sequence parallelism
//             these are an all-gather in and a reduce-scatter out, mirrored in the backward pass,
//             and the input is gathered once more for the weight gradient (Korthikanti 2022)
//   context   ring attention passes keys and values around while it computes on the piece received
//             before (Liu 2023). The forward pass exposes max(0.1 r, r - attention), where r is the
//             time around the ring. The backward pass also passes gradients (2 r), and overlaps
//             them with kernels that take twice as long. All-to-all (Jacobs 2023) exchanges
//             sequence for heads: queries, keys and values before attention, its output after,
//             without overlap; the same in the backward pass
//   expert    tokens go to their experts and back: two all-to-alls in the forward pass, two in the
//             backward pass. If experts are split by tensor parallelism, their tokens are also
//             gathered among the parts and the outputs all-reduced, mirrored in the backward pass
//   tables    indices go to the ranks that have the tables, pooled vectors come back, and their
//             gradients go to these ranks (cost/embedding.hpp). Layers between the tables and the
//             first layer that reads them run concurrently with the exchanges of vectors and
//             gradients, the layers behind it with the next batch's exchange of indices. What that
//             needs beyond them counts as part of the backward pass
//
// Monotone: if attention is faster by x, at most x more is exposed in the forward pass. In the
// backward pass, the exposed time grows by at most the time by which its kernels became faster. So
// the layer never gets slower.
//
// Measured times replace modeled kernel times and, if they include collectives, also modeled
// collective times (cost/measured.hpp).
//
//   KindCost cost = kind_cost(kind, kernels, split, wires);
#pragma once

#include "cost/kernel_time.hpp"
#include "cost/machine_rates.hpp"
#include "model/model.hpp"

namespace nereus::cost {

// Costs of one layer kind under one split. Times are seconds per micro-batch.
struct KindCost {
  LayerCost cost;
  double tensor_forward = 0;
  double tensor_backward = 0;
  int collectives_forward = 0;
  int collectives_backward = 0;
  double expert_forward = 0;   // backward takes the same time
  double context_forward = 0;  // exposed
  double context_backward = 0;
  // Bytes of keys and values on this rank, which go around the ring in the forward pass.
  double ring_bytes = 0;
  double exchange_bytes = 0;  // that this rank exchanges in the forward pass (all-to-all)
  double table_indices = 0;   // seconds of the exchange of indices
  double table_vectors = 0;
  double table_forward = 0;  // exposed seconds
  double table_backward = 0;
  bool whole = false;  // measured times, which include launches and gradient accumulation
};

// The groups that one layer's collectives run in.
struct LayerWires {
  Wire tensor;
  Wire context;
  Wire experts;
  Wire expert_parts;  // of the ranks that hold parts of the same experts
};

// With cp = 1 the kind of slices has no effect, so one kind stands for all.
inline plan::ContextKind context_of(int cp, plan::ContextKind kind) {
  return cp > 1 ? kind : plan::ContextKind::kZigzag;
}

// Costs of all layer kinds of a model; `row` must have room for them.
void model_costs(const model::Model& model, const KernelModel& kernels, const LayerSplit& split,
                 const LayerWires& wires, KindCost* row);

KindCost kind_cost(const model::LayerKind& kind, const KernelModel& kernels,
                   const LayerSplit& split, const LayerWires& wires);

}  // namespace nereus::cost
