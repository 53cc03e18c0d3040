// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, differentiable. Uses our loops for fp32 on
// CPUs (worker/ops/gelu_loops.hpp), and libtorch's kernel for everything else.
#pragma once

#include "worker/device/torch.hpp"

namespace nereus::worker {

at::Tensor gelu_tanh(const at::Tensor& x);

}  // namespace nereus::worker
