// What blocks with biases and LayerNorm share (GPT-2, BERT). `weight` is a place in the layer's
// weights; the bias stands behind it.
#pragma once

#include "worker/models/models.hpp"
#include "worker/ops/linear.hpp"

namespace nereus::worker {

at::Tensor layer_norm(const at::Tensor& x, const Weights& weights, int weight, double epsilon);

// Rows of the learned positions' table, for the part of the sequence that this rank holds.
at::Tensor learned_positions(const Weights& weights, int table, const PassContext& pass);

// The last product of a tensor region and the way out of it: the bias is added once, after the sum.
at::Tensor project_out(const at::Tensor& x, const Weights& weights, int weight, WeightLayout layout,
                       PassContext& pass);

}  // namespace nereus::worker
