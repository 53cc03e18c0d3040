// Products with weights whose gradients are added directly to the layer's flat gradient buffer.
//
//   y = x W + b;   backward: gx = gy W^T at once,  gW += x^T gy and gb += sum gy at once or later
//
// Autograd would make a new tensor for gW and add it afterwards, which is one more pass over memory
// for every micro-batch. Also, schedules that split the backward pass (ZB-H1 ...) need the two
// halves separately: with pass.defer_weights, the second half waits in pass.deferred.
//
//   at::Tensor y = linear(x, weights, 0, 1, WeightLayout::kInOut, pass);
#pragma once

#include "worker/ops/layer.hpp"

namespace nereus::worker {

enum class WeightLayout { kInOut, kOutIn };  // as in GPT-2's Conv1D; as in torch's Linear

// `weight` and `bias` are indices in `weights`; bias -1: none.
at::Tensor linear(const at::Tensor& x, const Weights& weights, int weight, int bias,
                  WeightLayout layout, PassContext& pass);

// x W^T + b as [rows, vocabulary], where W is a table of the vocabulary. On a GPU, if there is no
// b, columns are padded to a multiple of 64 with minus infinity, which softmax maps to zero:
// without padding, products with GPT-2's 50,257 rows took 1.6 times as long.
at::Tensor logits(const at::Tensor& x, const Weights& weights, int table, int bias,
                  PassContext& pass);

// Rows of the table; ids outside [first_row, first_row + rows) give zeros (for vocabulary slices).
at::Tensor embed(const at::Tensor& ids, const Weights& weights, int table, std::int64_t first_row,
                 PassContext& pass);

}  // namespace nereus::worker
