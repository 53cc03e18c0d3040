#include "worker/ops/gelu.hpp"

#include <gtest/gtest.h>

namespace nereus::worker {
namespace {

TEST(Gelu, IsLibtorchsInDoublePrecision) {
  const at::Tensor x =
      at::cat({at::linspace(-30, 30, 100'001), at::tensor({-1e30, 0.0, 1e30, 1e-30})})
          .to(at::kFloat)
          .requires_grad_();
  const at::Tensor exact_x = x.detach().to(at::kDouble).requires_grad_();
  const at::Tensor y = gelu_tanh(x), exact = at::gelu(exact_x, "tanh");
  EXPECT_TRUE(at::allclose(y.to(at::kDouble), exact, 1e-6, 1e-7));
  y.backward(at::ones_like(y));
  exact.backward(at::ones_like(exact));
  // Beyond 1e10 libtorch's own derivative is infinity times nothing.
  EXPECT_TRUE(at::allclose(x.grad().narrow(0, 0, 100'001).to(at::kDouble),
                           exact_x.grad().narrow(0, 0, 100'001), 1e-6, 1e-6));
}

}  // namespace
}  // namespace nereus::worker
