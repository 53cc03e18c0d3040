#include "worker/ops/gpu_update.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace nereus::worker {
namespace {

struct Buffers {
  at::Tensor weights, gradients, first, second, narrow;
};

// Spans of many lengths, some of which begin where no four numbers do; the third does not decay,
// and the last has no weights in bf16.
std::vector<UpdateSpan> spans_of(const Buffers& b, bool adam) {
  std::vector<UpdateSpan> spans;
  std::int64_t begin = 0;
  for (const std::int64_t size : {16384, 1, 6, 40'001, 3 * 16384, 4}) {
    const bool is_last = size == 4;
    spans.push_back({b.weights.data_ptr<float>() + begin, b.gradients.data_ptr<float>() + begin,
                     b.first.data_ptr<float>() + begin,
                     adam ? b.second.data_ptr<float>() + begin : nullptr,
                     is_last ? nullptr : static_cast<std::uint16_t*>(b.narrow.data_ptr()) + begin,
                     size, size != 6});
    begin += size;
  }
  return spans;
}

TEST(GpuUpdate, IsTheFormulas) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  torch::manual_seed(1);
  const std::int64_t size = 16384 + 1 + 6 + 40'001 + 3 * 16384 + 4;
  for (const bool adam : {true, false}) {
    const auto random = [&] { return at::randn({size}); };
    at::Tensor w = random().to(at::kDouble), m = random().to(at::kDouble) * 0.1,
               v = random().to(at::kDouble).abs() * 0.1;
    Buffers b{w.to(at::kCUDA, at::kFloat),
              {},
              m.to(at::kCUDA, at::kFloat),
              v.to(at::kCUDA, at::kFloat),
              at::zeros({size}, at::TensorOptions(at::kCUDA).dtype(at::kBFloat16))};
    at::Tensor decay = at::full({size}, 0.1, at::kDouble);
    decay.narrow(0, 16385, 6).zero_();
    GpuUpdate update;
    for (int step = 1; step <= 3; ++step) {
      const at::Tensor g = random();
      b.gradients = g.to(at::kCUDA);  // moves: the list of chunks is made anew
      const UpdateConstants c{
          0.01, 0.9, 0.95, 1e-8, 0.9, 0.1, 0.5, 1 - std::pow(0.9, step), 1 - std::pow(0.95, step)};
      ASSERT_TRUE(update.run(spans_of(b, adam), c));
      const at::Tensor scaled = g.to(at::kDouble) * c.scale;
      if (adam) {
        m = c.beta1 * m + (1 - c.beta1) * scaled;
        v = c.beta2 * v + (1 - c.beta2) * scaled * scaled;
        w = w * (1 - c.rate * decay) -
            c.rate * (m / c.correct1) / ((v / c.correct2).sqrt() + c.epsilon);
      } else {
        m = c.momentum * m + scaled;
        w = w - c.rate * (m + decay * w);
      }
      const auto off = [](const at::Tensor& x, const at::Tensor& y) {
        return (x.cpu().to(at::kDouble) - y).abs().max().item<double>();
      };
      EXPECT_LT(off(b.weights, w), 2e-6);
      EXPECT_LT(off(b.first, m), 2e-6);
      EXPECT_LT(off(b.second, v), 2e-6);
      const std::int64_t in_both = size - 4;
      EXPECT_TRUE(
          b.narrow.narrow(0, 0, in_both).equal(b.weights.narrow(0, 0, in_both).to(at::kBFloat16)));
      EXPECT_EQ(b.narrow.narrow(0, in_both, 4).abs().sum().item<float>(), 0);
    }
  }
}

}  // namespace
}  // namespace nereus::worker
