#include "worker/execute/masking.hpp"

#include <gtest/gtest.h>

namespace nereus::worker {
namespace {

model::TransformerShape shape_of(int seq) {
  model::TransformerShape shape;
  shape.vocab = 1000;
  shape.seq = seq;
  return shape;
}

TEST(Masking, HidesFifteenPercentAndKeepsTheRest) {
  const model::TransformerShape shape = shape_of(128);
  const at::Tensor tokens = at::randint(0, 900, {400, 128}, at::kLong);
  const Batch batch = hide_words(tokens, shape, 7, 3, 0);
  const std::int64_t m = 19;  // 19.2
  ASSERT_EQ(batch.positions.sizes(), (at::IntArrayRef{400, m}));
  EXPECT_TRUE(at::equal(batch.targets, tokens.gather(1, batch.positions)));
  // In rising order: so no position twice.
  EXPECT_TRUE((batch.positions.narrow(1, 1, m - 1) > batch.positions.narrow(1, 0, m - 1))
                  .all()
                  .item<bool>());
  const at::Tensor elsewhere = at::ones_like(tokens).scatter_(1, batch.positions, 0).to(at::kBool);
  EXPECT_TRUE(at::equal(batch.inputs.masked_select(elsewhere), tokens.masked_select(elsewhere)));
  const at::Tensor now = batch.inputs.gather(1, batch.positions);
  const double all = static_cast<double>(now.numel());
  const double masked = (now == mask_token(1000)).sum().item<double>() / all;
  const double kept = (now == batch.targets).sum().item<double>() / all;
  // Of 7,600 draws; one standard deviation is 0.0046 and 0.0034.
  EXPECT_NEAR(masked, 0.8, 0.02);
  EXPECT_NEAR(kept, 0.1, 0.015);
}

TEST(Masking, DependsOnSeedStepAndSampleAlone) {
  const model::TransformerShape shape = shape_of(40);
  const at::Tensor tokens = at::randint(0, 900, {6, 40}, at::kLong);
  const Batch whole = hide_words(tokens, shape, 1, 5, 10);
  const Batch part = hide_words(tokens.narrow(0, 2, 3), shape, 1, 5, 12);
  EXPECT_TRUE(at::equal(part.inputs, whole.inputs.narrow(0, 2, 3)));
  EXPECT_TRUE(at::equal(part.positions, whole.positions.narrow(0, 2, 3)));
  EXPECT_FALSE(at::equal(hide_words(tokens, shape, 1, 6, 10).positions, whole.positions));
  EXPECT_FALSE(at::equal(hide_words(tokens, shape, 2, 5, 10).positions, whole.positions));
}

}  // namespace
}  // namespace nereus::worker
