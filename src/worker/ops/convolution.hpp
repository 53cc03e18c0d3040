// Convolutions whose weight gradients are added directly to the layer's flat gradient buffer.
//
//   y = conv(x, W) + b;   backward: gx at once,  gW and gb at once or, with pass.defer_weights,
//   when the schedule runs the weight half (as in ops/linear.hpp)
//
//   at::Tensor y = convolution(x, weights, 0, -1, {.stride = 2, .pad_height = 3, .pad_width = 3},
//                              pass);
#pragma once

#include "worker/ops/layer.hpp"

namespace nereus::worker {

struct ConvolutionShape {
  std::int64_t stride = 1;
  std::int64_t pad_height = 0;
  std::int64_t pad_width = 0;
  std::int64_t groups = 1;
};

// x is [n, c, h, w], the weight is [out, c / groups, height, width]; `weight` and `bias` are
// indices in `weights`, bias -1: none. If x needs no gradient (the samples), none is computed.
at::Tensor convolution(const at::Tensor& x, const Weights& weights, int weight, int bias,
                       const ConvolutionShape& shape, PassContext& pass);

}  // namespace nereus::worker
