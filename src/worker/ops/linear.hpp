// Products with weights whose gradients are added straight to the layer's flat gradient buffer.
//
//   y = x W + b;   backward: gx = gy W^T at once,  gW += x^T gy and gb += sum gy at once or later
//
// Autograd would make a new tensor for gW and add it afterwards: one more pass over memory for
// every micro-batch. And schedules that split the backward pass (ZB-H1 ...) need the two halves
// apart: with pass.defer_weights the second half waits in pass.deferred.
//
//   at::Tensor y = linear(x, weights, 0, 1, WeightLayout::kInOut, pass);
#pragma once

#include "worker/ops/layer.hpp"

namespace nereus::worker {

enum class WeightLayout { kInOut, kOutIn };  // GPT-2's Conv1D; torch's Linear

// `weight` and `bias` are places in `weights`; bias -1: none.
at::Tensor linear(const at::Tensor& x, const Weights& weights, int weight, int bias,
                  WeightLayout layout, PassContext& pass);

// x W^T + b as [rows, vocabulary], W a table of the vocabulary. On a GPU, without b, it has columns
// up to a multiple of 64, those beyond the table's rows minus infinity, so that softmax gives them
// nothing: with GPT-2's 50,257 rows products of it took 1.6 times as long.
at::Tensor logits(const at::Tensor& x, const Weights& weights, int table, int bias,
                  PassContext& pass);

// Rows of the table; ids outside [first_row, first_row + rows) give zeros (vocabulary slices).
at::Tensor embed(const at::Tensor& ids, const Weights& weights, int table, std::int64_t first_row,
                 PassContext& pass);

}  // namespace nereus::worker
