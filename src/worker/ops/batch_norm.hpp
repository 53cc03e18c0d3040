// BatchNorm (Ioffe 2015, 1502.03167) in training, over groups that do not depend on the plan.
//
//   y = (x - mean) / sqrt(variance + epsilon) w + b,   mean and (biased) variance of each channel
//   over all positions of the group's samples
//
// A group is `samples` consecutive samples of the step, a micro-batch holds whole groups; or, with
// `sync`, what all data ranks of the stage compute at the same micro-batch number. There each rank
// gives its mean, its sum of squares about it and its count; they are put together as in Chan 1979
// (no difference of large numbers), so that ranks weigh by their samples. Backward sums two numbers
// a channel over them.
//
// Running statistics are what they would be had the step's groups come one after another:
//
//   r <- (1 - m)^G r + sum_i m (1 - m)^(G - 1 - i) s_i,   i = 0 .. G - 1 in the order of samples
//
// s the mean, or the unbiased variance. Every pass adds its terms to statistics.step; the executor
// sums them over the data ranks when the step ends. A pass that is computed again adds nothing.
// Statistics are in fp32, in fp64 where x is.
//
//   at::Tensor y = batch_norm(conv, weights, 1, {.epsilon = 1e-5, .momentum = 0.1}, pass);
#pragma once

#include "model/cnn_recipe.hpp"
#include "worker/ops/layer.hpp"

namespace nereus::worker {

// x [n, c, h, w]; `weight` is a place in `weights`, the bias follows it.
at::Tensor batch_norm(const at::Tensor& x, const Weights& weights, int weight,
                      const model::NormConstants& constants, PassContext& pass);

}  // namespace nereus::worker
