// BatchNorm (Ioffe 2015, 1502.03167) in training, over groups of samples that the job defines
// (job/norm_check.hpp).
//
//   y = (x - mean) / sqrt(variance + epsilon) w + b,   mean and (biased) variance of each channel
//   over all positions of the group's samples
//
// A group is `samples` consecutive samples of the step, and a micro-batch must hold whole groups.
// With `sync`, a group is all samples that the data-parallel ranks of the stage compute at the same
// micro-batch number. Each rank then contributes its mean, the sum of squared deviations from it,
// and its count; they are combined as in Chan 1979 (without differences of large numbers), so that
// ranks are weighted by their samples. The backward pass all-reduces two numbers per channel.
//
// Running statistics are the same as if the step's groups came one after another:
//
//   r <- (1 - m)^G r + sum_i m (1 - m)^(G - 1 - i) s_i,   i = 0 .. G - 1 in the order of samples
//
// where s is the mean, or the unbiased variance. Every pass adds its terms to statistics.step; the
// executor sums them over the data-parallel ranks at the end of the step. A recomputed pass adds
// nothing. Statistics are in fp32, or in fp64 if x is.
//
//   at::Tensor y = batch_norm(conv, weights, 1, {.epsilon = 1e-5, .momentum = 0.1}, pass);
#pragma once

#include "model/cnn_recipe.hpp"
#include "worker/ops/layer.hpp"

namespace nereus::worker {

// x is [n, c, h, w]; `weight` is an index in `weights`, and the bias is the next one.
at::Tensor batch_norm(const at::Tensor& x, const Weights& weights, int weight,
                      const model::NormConstants& constants, PassContext& pass);

}  // namespace nereus::worker
