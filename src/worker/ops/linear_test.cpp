#include "worker/ops/linear.hpp"

#include <gtest/gtest.h>

#include "worker/ops/team.hpp"

namespace nereus::worker {
namespace {

struct Head {
  double loss = 0;
  at::Tensor input_gradient, table_gradient;
};

Head head_of(const at::Tensor& x, const at::Tensor& table, const at::Tensor& targets,
             double most_operations) {
  PassContext pass;
  pass.most_operations = most_operations;
  Weights weights;
  weights.values = {table.detach().clone().requires_grad_()};
  weights.gradients = {at::zeros_like(table)};
  const at::Tensor input = x.detach().clone().requires_grad_();
  const at::Tensor loss =
      cross_entropy(logits(input, weights, 0, -1, pass), targets, {0, table.size(0)}, pass);
  loss.backward();
  return {loss.item<double>(), input.grad(), weights.gradients[0]};
}

// 200 rows and 300 classes in parts of 64 and of 128, and the last of each shorter.
TEST(Logits, InPartsAreTheSame) {
  torch::manual_seed(1);
  const auto wide = at::TensorOptions(at::kDouble);
  const at::Tensor x = at::randn({4, 50, 16}, wide), table = at::randn({300, 16}, wide);
  const at::Tensor targets = at::randint(0, 300, {200});
  const Head whole = head_of(x, table, targets, 0);
  for (const double most : {1.0, 128 * 2.0 * 200 * 16}) {
    const Head parts = head_of(x, table, targets, most);
    EXPECT_NEAR(parts.loss / whole.loss, 1, 1e-12);
    EXPECT_LT((parts.input_gradient - whole.input_gradient).abs().max().item<double>(), 1e-12);
    EXPECT_LT((parts.table_gradient - whole.table_gradient).abs().max().item<double>(), 1e-12);
  }
  EXPECT_GT(whole.table_gradient.abs().min().item<double>(), 0);
}

// A vocabulary of whole tiles needs none more.
TEST(Logits, InPartsOfWholeTilesAreTheSame) {
  torch::manual_seed(2);
  const at::Tensor x = at::randn({2, 33, 8}), table = at::randn({128, 8});
  const at::Tensor targets = at::randint(0, 128, {66});
  const Head whole = head_of(x, table, targets, 0), parts = head_of(x, table, targets, 1);
  EXPECT_NEAR(parts.loss / whole.loss, 1, 1e-6);
  EXPECT_LT((parts.table_gradient - whole.table_gradient).abs().max().item<double>(), 1e-4);
}

}  // namespace
}  // namespace nereus::worker
