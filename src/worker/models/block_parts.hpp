// Shared by blocks with biases and LayerNorm (GPT-2, BERT). `weight` is an index in the layer's
// weights; the bias is the next one.
#pragma once

#include "worker/models/models.hpp"
#include "worker/ops/linear.hpp"

namespace nereus::worker {

at::Tensor layer_norm(const at::Tensor& x, const Weights& weights, int weight, double epsilon);

// Rows of the table of learned positions, for the part of the sequence on this rank.
at::Tensor learned_positions(const Weights& weights, int table, const PassContext& pass);

// The last product of a tensor-parallel region, and its reduction: the bias is added once, after
// the sum.
at::Tensor project_out(const at::Tensor& x, const Weights& weights, int weight, WeightLayout layout,
                       PassContext& pass);

}  // namespace nereus::worker
