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

// 1,000 rows that go to few rows of a table, some to one alone and some to one after the other for
// more than a block of a GPU's kernel takes; a vocabulary's part that begins at 5 and ends before
// the last.
TEST(Embed, AddsRowsWhereTheyBelong) {
  torch::manual_seed(3);
  std::vector<at::Device> devices{at::kCPU};
  if (torch::cuda::is_available()) devices.emplace_back(at::kCUDA, 0);
  const std::int64_t first = 5, num_rows = 40;
  const at::Tensor drawn = at::rand({4, 250}, at::kDouble);
  const at::Tensor ids = (drawn.pow(4) * 50).to(at::kLong);
  for (const at::Device& device : devices)
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16})
      for (const std::int64_t columns : {2, 7, 300, 768}) {
        const at::Tensor gy = at::randn({4, 250, columns}).to(type);
        const at::Tensor before = at::randn({num_rows, columns});
        at::Tensor expected = at::zeros({60, columns}, at::kDouble);
        expected.index_add_(0, ids.reshape({-1}), gy.to(at::kDouble).reshape({-1, columns}));
        expected = expected.narrow(0, first, num_rows) + before;
        const auto gradient = [&] {
          Weights weights;
          weights.values = {at::randn({num_rows, columns}).to(device, type).requires_grad_()};
          weights.gradients = {before.to(device, at::kFloat, false, true)};
          PassContext pass;
          embed(ids.to(device), weights, 0, first, pass).backward(gy.to(device));
          return weights.gradients[0].cpu();
        };
        const at::Tensor sum = gradient();
        // libtorch, which sums an odd number of columns, does so in their own type.
        const double most =
            columns % 2 == 1 && device.is_cuda() && type == at::kBFloat16 ? 1 : 1e-4;
        EXPECT_LT((sum - expected).abs().max().item<double>(), most) << device << columns << type;
        EXPECT_TRUE(gradient().equal(sum));
      }
}

}  // namespace
}  // namespace nereus::worker
