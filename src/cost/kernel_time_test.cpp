#include "cost/kernel_time.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "cluster/catalogue.hpp"
#include "cost/kernel_testing.hpp"

namespace nereus::cost::kernel_time_test {
namespace {

using cluster::Precision;
using model::Operator;
using model::OpKind;
using plan::Attention;
using namespace testing;  // of this folder

double gemm(const KernelModel& m, double rows, double n, double k, double batch = 1) {
  return gemm_seconds(m, rows, n, k, batch, m.gemm_rate);
}

// 32 samples of 32 channels, 112 x 112, a 3 x 3 filter for each channel: 8 bytes of traffic and 18
// FLOP a value in fp32, so memory decides; both gradients take as long each.
TEST(GroupedConvolution, OfSingleChannelsReadsAndWritesOnce) {
  Operator op;
  op.kind = OpKind::kConvolution;
  op.groups = 32;
  op.window = 9;
  op.rows = 112 * 112;
  op.n = 32;
  op.k = 9;
  op.parameters = 32 * 9;
  op.read_elements = op.written_elements = 32.0 * 112 * 112;
  op.flops = 2 * op.rows * op.n * op.k;
  const OperatorCost cost = operator_cost(op, model_of(ideal(), Precision::kFp32), {.samples = 32});
  const double bytes = 4 * (32 * 2 * 32.0 * 112 * 112 + 32 * 9);
  EXPECT_NEAR(cost.forward, bytes / 1e12, 1e-12);
  EXPECT_NEAR(cost.backward, 2 * bytes / 1e12, 1e-12);
  EXPECT_EQ(cost.flops, 32 * op.flops);
  EXPECT_EQ(cost.bytes, bytes);
}

// Two wide groups are two GEMMs on matrix units, which a kernel without them cannot match.
TEST(GroupedConvolution, OfWideGroupsIsAGemmEach) {
  Operator op;
  op.kind = OpKind::kConvolution;
  op.groups = 2;
  op.rows = 4096;
  op.n = 2048;
  op.k = 4096;
  op.read_elements = 4096.0 * 8192;
  op.written_elements = 4096.0 * 2048;
  op.flops = 2 * op.rows * op.n * op.k;
  const KernelModel m = model_of(ideal());
  EXPECT_NEAR(operator_cost(op, m, {.samples = 1}).forward, gemm(m, 4096, 1024, 4096, 2), 1e-12);
}

// --- GEMM by hand --------------------------------------------------------------------------------

// 4096^3: 16 x 32 tiles of 256 x 128 are four whole waves, so the tail costs nothing.
TEST(Gemm, AlignedSquareByHand) {
  Parameters p = ideal();
  const double flops = 2 * std::pow(4096, 3);
  EXPECT_DOUBLE_EQ(gemm(model_of(p), 4096, 4096, 4096), flops / 100e12);
  p.gemm_efficiency = 0.8;
  p.gemm_tail = 0.5;
  p.gemm_depth = 256;
  p.kernel_gap = 3e-6;
  EXPECT_DOUBLE_EQ(gemm(model_of(p), 4096, 4096, 4096), flops / 80e12 * (4096 + 256) / 4096 + 3e-6);
}

TEST(Gemm, PaysItsShareOfTheLastWave) {
  Parameters p = ideal();
  // 19 x 32 = 608 tiles: 4.75 waves, of which the last is paid whole or as used.
  const double wave = 128.0 * 2 * 256 * 128 * 4096 / 100e12;
  p.gemm_tail = 1;
  EXPECT_DOUBLE_EQ(gemm(model_of(p), 19 * 256, 4096, 4096), 5 * wave);
  p.gemm_tail = 0;
  EXPECT_DOUBLE_EQ(gemm(model_of(p), 19 * 256, 4096, 4096), 4.75 * wave);
}

TEST(Gemm, ManySmallOnesFillTheDeviceTogether) {
  Parameters p = ideal();
  p.gemm_tail = 1;
  const KernelModel m = model_of(p);
  // Either way 128 tiles of 256 x 128: one wave.
  EXPECT_DOUBLE_EQ(gemm(m, 512, 256, 4096, 32), gemm(m, 4096, 1024, 4096));
  EXPECT_LT(gemm(m, 512, 256, 1024, 32), 8 * gemm(m, 512, 256, 1024)) << "alone they do not";
}

// The weight gradient of 512 x 256 over 65,536 samples is four tiles, of which each multiprocessor
// sums a part.
TEST(Gemm, FewTilesOfLongProductsAreSplit) {
  Parameters p = ideal();
  p.gemm_tail = 1;
  const KernelModel m = model_of(p);
  EXPECT_NEAR(gemm(m, 512, 256, 65536) / gemm(m, 65536, 512, 256), 1, 1e-12);
  EXPECT_GT(gemm(m, 512, 256, 2000) / gemm(m, 2000, 512, 256), 4) << "too short to split";
}

TEST(Gemm, IsNeverFasterThanItsBytes) {
  // One row: 4096^2 weights of two bytes at half of 1 TB/s, and next to nothing to compute.
  Parameters p = ideal();
  p.memory_efficiency = 0.5;
  const double bytes = 2.0 * (4096 * 4096 + 2 * 4096);
  EXPECT_DOUBLE_EQ(gemm(model_of(p), 1, 4096, 4096), bytes / 0.5e12);
}

TEST(Gemm, MisalignedDimsPay) {
  Parameters p = ideal();
  p.misaligned_gemm = 1.25;
  const KernelModel m = model_of(p);
  const double aligned = gemm(m, 4096, 4096, 4096);
  EXPECT_DOUBLE_EQ(gemm(m, 4096, 4096, 4095), 1.25 * aligned * 4095 / 4096);
  EXPECT_DOUBLE_EQ(gemm(m, 4096, 4095, 4096), 1.25 * aligned) << "tiles are whole";
  EXPECT_DOUBLE_EQ(gemm(m, 4095, 4096, 4096), aligned) << "rows may be any number";
}

// --- GEMM properties -----------------------------------------------------------------------------

struct Dims {
  int m, n, k;
};

Dims random_dims() {
  return {*rc::gen::inRange(1, 20000), 64 * *rc::gen::inRange(1, 300),
          64 * *rc::gen::inRange(1, 300)};
}

RC_GTEST_PROP(GemmProperty, GrowsWithEveryDim, ()) {
  const KernelModel m = model_of(random_parameters());
  const Dims d = random_dims();
  const double base = gemm(m, d.m, d.n, d.k);
  const double rounding = 1 - 1e-12;
  RC_ASSERT(gemm(m, d.m + *rc::gen::inRange(1, 5000), d.n, d.k) >= base * rounding);
  RC_ASSERT(gemm(m, d.m, d.n + 64 * *rc::gen::inRange(1, 50), d.k) >= base * rounding);
  RC_ASSERT(gemm(m, d.m, d.n, d.k + 64 * *rc::gen::inRange(1, 50)) >= base * rounding);
  RC_ASSERT(gemm(m, d.m, d.n, d.k, 2) >= base * rounding);
}

RC_GTEST_PROP(GemmProperty, FasterDevicesAreNeverSlower, ()) {
  const Parameters p = random_parameters();
  const Dims d = random_dims();
  cluster::Device better = device();
  better.memory_bandwidth *= 1 + *rc::gen::inRange(0, 100) * 0.1;
  for (FlopsPerSecond& peak : better.peak) peak *= 1 + *rc::gen::inRange(0, 100) * 0.1;
  const KernelModel slow = model_of(p);
  const KernelModel fast(better, p, Precision::kBf16, Attention::kFlash);
  RC_ASSERT(gemm(fast, d.m, d.n, d.k) <= gemm(slow, d.m, d.n, d.k));
}

RC_GTEST_PROP(GemmProperty, NeverBeatsPeak, ()) {
  const KernelModel m = model_of(random_parameters());
  const Dims d = random_dims();
  RC_ASSERT(gemm(m, d.m, d.n, d.k) >= 2.0 * d.m * d.n * d.k / m.gemm_rate);
}

// --- operators -----------------------------------------------------------------------------------

TEST(OperatorCost, BackwardOfAGemmIsTwoOfThem) {
  const model::Model m = model::build_transformer(gpt_shape());
  const Operator& up = find(m.kinds[1], "up");
  const OperatorCost exact = operator_cost(up, model_of(ideal()), {});
  EXPECT_DOUBLE_EQ(exact.backward, 2 * exact.forward);
  EXPECT_EQ(exact.flops, 2.0 * 2048 * 4096 * 16384);
  const OperatorCost real = operator_cost(up, model_of(Parameters{}), {});
  EXPECT_NEAR(real.backward / real.forward, 2, 0.2);
}

TEST(OperatorCost, FusedAttentionByHand) {
  const model::Model m = model::build_transformer(gpt_shape());
  const Operator& attention = find(m.kinds[1], "attention");
  Parameters p = ideal();
  p.attention_efficiency = 0.5;
  p.attention_backward = 0.8;
  LayerSplit split;
  split.samples = 4;
  const OperatorCost cost = operator_cost(attention, model_of(p), split);
  const double flops = 4 * 4.0 * 2048 * 2048 * 4096;  // samples, 4 s^2 h
  EXPECT_DOUBLE_EQ(cost.flops, flops);
  EXPECT_DOUBLE_EQ(cost.forward, flops / 2 / 50e12) << "masked tiles are skipped";
  EXPECT_DOUBLE_EQ(cost.backward, 2.5 * flops / 2 / (50e12 * 0.8));
}

TEST(OperatorCost, EncodersComputeTheWholeSquare) {
  model::TransformerShape shape = gpt_shape();
  const KernelModel m = model_of(ideal());
  const model::Model causal = model::build_transformer(shape);
  shape.causal = false;
  const model::Model full = model::build_transformer(shape);
  EXPECT_DOUBLE_EQ(operator_cost(find(full.kinds[1], "attention"), m, {}).forward,
                   2 * operator_cost(find(causal.kinds[1], "attention"), m, {}).forward);
}

TEST(OperatorCost, OddHeadSizesSlowAttentionDown) {
  model::TransformerShape shape = gpt_shape();
  Parameters p = ideal();
  const auto attention_seconds = [&] {
    const model::Model m = model::build_transformer(shape);
    return operator_cost(find(m.kinds[1], "attention"), model_of(p), {}).forward;
  };
  shape.head_dim = 120;
  p.misaligned_head = 1.3;
  const double aligned = attention_seconds();
  shape.head_dim = 124;
  EXPECT_DOUBLE_EQ(attention_seconds(), aligned * 124 / 120 * 1.3);
}

TEST(OperatorCost, ElementwiseWorkIsItsBytes) {
  const model::Model m = model::build_transformer(gpt_shape());
  Parameters p = ideal();
  p.elementwise_passes = 1.5;
  p.memory_efficiency = 0.5;
  const OperatorCost cost = operator_cost(find(m.kinds[1], "mlp_residual"), model_of(p), {});
  const double bytes = 2.0 * 3 * 2048 * 4096;  // reads two, writes one
  EXPECT_DOUBLE_EQ(cost.bytes, bytes);
  EXPECT_DOUBLE_EQ(cost.forward, 1.5 * bytes / 0.5e12);
}

TEST(OperatorCost, Fp8IsNotSlowerThanBf16OnLargeSizes) {
  const cluster::Device* h100 = cluster::builtin_catalogue().find_device("H100");
  ASSERT_NE(h100, nullptr);
  const KernelModel bf16(*h100, Parameters{}, Precision::kBf16, Attention::kFlash);
  const KernelModel fp8(*h100, Parameters{}, Precision::kFp8, Attention::kFlash);
  model::TransformerShape shape = llama_shape();
  shape.hidden = 8192;
  shape.heads = 64;
  shape.ffn = 28672;
  const model::Model m = model::build_transformer(shape);
  for (const Operator& op : m.kinds[1].operators) {
    const OperatorCost narrow = operator_cost(op, fp8, {});
    const OperatorCost wide = operator_cost(op, bf16, {});
    EXPECT_LE(narrow.forward, wide.forward) << op.name;
    EXPECT_LE(narrow.backward, wide.backward) << op.name;
  }
  EXPECT_LT(operator_cost(find(m.kinds[1], "up"), fp8, {}).forward,
            operator_cost(find(m.kinds[1], "up"), bf16, {}).forward)
      << "quantising costs less than it gains";
  const Operator& logits = find(m.kinds[2], "logits");
  EXPECT_EQ(operator_cost(logits, fp8, {}).flops, operator_cost(logits, bf16, {}).flops);
  EXPECT_NEAR(operator_cost(logits, fp8, {}).forward, operator_cost(logits, bf16, {}).forward,
              0.01 * operator_cost(logits, bf16, {}).forward)
      << "logits stay in 16 bit";
}

TEST(OperatorCost, ABatchOfSamplesIsSoManyRows) {
  const model::Model m = model::build_transformer(gpt_shape());
  const KernelModel ideal_model = model_of(ideal());
  LayerSplit four;
  four.samples = 4;
  for (const Operator& op : m.kinds[1].operators) {
    const OperatorCost one = operator_cost(op, ideal_model, {});
    const OperatorCost all = operator_cost(op, ideal_model, four);
    EXPECT_DOUBLE_EQ(all.forward, 4 * one.forward) << op.name;
    EXPECT_DOUBLE_EQ(all.saved, 4 * one.saved) << op.name;
    EXPECT_EQ(all.parameters, one.parameters) << op.name;
  }
}

}  // namespace
}  // namespace nereus::cost::kernel_time_test
