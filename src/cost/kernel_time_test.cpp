#include "cost/kernel_time.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "cluster/catalogue.hpp"

namespace nereus::cost::kernel_time_test {
namespace {

using cluster::Precision;
using model::Operator;
using model::OpKind;
using plan::Attention;

// 100 TFLOP/s in 16 bit, 1 TB/s, 128 multiprocessors: a wave is 128 tiles.
cluster::Device device() {
  cluster::Device d;
  d.name = d.short_name = "T1";
  d.memory = Bytes{80e9};
  d.memory_bandwidth = BytesPerSecond{1e12};
  d.num_units = 128;
  const auto set = [&](Precision p, double peak) {
    d.peak[static_cast<std::size_t>(p)] = FlopsPerSecond{peak};
  };
  set(Precision::kFp32, 20e12);
  set(Precision::kFp16, 100e12);
  set(Precision::kBf16, 100e12);
  set(Precision::kFp8, 200e12);
  return d;
}

// Nothing but arithmetic: full rates, no start-up, no tail.
Parameters ideal() {
  Parameters p;
  p.gemm_efficiency = p.gemm_efficiency_8bit = p.memory_efficiency = p.attention_efficiency = 1;
  p.gemm_tail = p.gemm_depth = p.kernel_gap = 0;
  p.attention_backward = p.elementwise_passes = p.loss_passes = p.score_passes = 1;
  return p;
}

KernelModel model_of(const Parameters& p, Precision precision = Precision::kBf16,
                     Attention attention = Attention::kFlash) {
  return KernelModel(device(), p, precision, attention);
}

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

model::TransformerShape gpt_shape() {
  model::TransformerShape shape;
  shape.layers = 2;
  shape.hidden = 4096;
  shape.heads = 32;
  shape.ffn = 16384;
  shape.vocab = 51200;
  shape.seq = 2048;
  return shape;
}

model::TransformerShape llama_shape() {
  model::TransformerShape shape = gpt_shape();
  shape.kv_heads = 8;
  shape.gated_mlp = true;
  shape.bias = false;
  shape.norm = model::NormKind::kRmsNorm;
  shape.position = model::PositionKind::kRotary;
  return shape;
}

// Embedding, block and head are kinds 0, 1 and 2 of a dense model.
LayerCost block_cost(const model::TransformerShape& shape, const KernelModel& m,
                     const LayerSplit& split) {
  return layer_cost(model::build_transformer(shape).kinds[1], m, split);
}

const Operator& find(const model::LayerKind& layer, std::string_view name) {
  for (const Operator& op : layer.operators)
    if (op.name == name) return op;
  ADD_FAILURE() << "no operator " << name;
  return layer.operators.front();
}

// --- experts and scans -----------------------------------------------------------------------

model::TransformerShape expert_shape() {
  model::TransformerShape shape = llama_shape();
  shape.experts = 8;
  shape.top_k = 2;
  shape.expert_ffn = 4096;
  return shape;
}

TEST(ExpertCost, GroupedGemmsRunAtTheirShareOfTheRate) {
  const model::LayerKind layer = model::build_transformer(expert_shape()).kinds[1];
  Parameters p = ideal();
  p.grouped_gemm = 1;
  const Operator& up = find(layer, "expert_up");
  const double plain = operator_cost(up, model_of(p), {}).forward;
  // 2 x 2048 rows over 8 experts, 8192 x 4096 each: whole tiles and whole waves.
  EXPECT_NEAR(plain, 2.0 * 4096 * 8192 * 4096 / 100e12, 1e-9);
  p.grouped_gemm = 0.5;
  EXPECT_NEAR(operator_cost(up, model_of(p), {}).forward, 2 * plain, 1e-9);
}

TEST(ExpertCost, TheBusiestRankDecides) {
  Parameters p = ideal();
  const LayerCost even = block_cost(expert_shape(), model_of(p), {});
  p.expert_imbalance = 2;
  const LayerCost skewed = block_cost(expert_shape(), model_of(p), {});
  EXPECT_GT(skewed.forward, even.forward);
  EXPECT_DOUBLE_EQ(skewed.expert_bytes, 2 * even.expert_bytes);
  EXPECT_DOUBLE_EQ(skewed.expert_parameters, even.expert_parameters);
}

TEST(ExpertCost, FusedExpertsAreForGatedOnesInMxfp8) {
  cluster::Device d = device();
  d.peak[static_cast<std::size_t>(Precision::kMxfp8)] = FlopsPerSecond{200e12};
  Parameters p = ideal();
  const auto seconds = [&](const model::TransformerShape& shape, Precision precision,
                           double fused) {
    p.fused_experts = fused;
    return block_cost(shape, KernelModel(d, p, precision, Attention::kFlash), {}).forward;
  };
  EXPECT_LT(seconds(expert_shape(), Precision::kMxfp8, 1),
            seconds(expert_shape(), Precision::kMxfp8, 0));
  EXPECT_EQ(seconds(expert_shape(), Precision::kBf16, 1),
            seconds(expert_shape(), Precision::kBf16, 0));
  model::TransformerShape plain = expert_shape();
  plain.gated_mlp = false;
  EXPECT_EQ(seconds(plain, Precision::kMxfp8, 1), seconds(plain, Precision::kMxfp8, 0));
}

TEST(ExpertCost, CountsTheExpertsOfARank) {
  LayerSplit split;
  EXPECT_EQ(block_cost(expert_shape(), model_of(ideal()), split).local_experts, 8);
  split.ep = 4;
  EXPECT_EQ(block_cost(expert_shape(), model_of(ideal()), split).local_experts, 2);
  EXPECT_EQ(block_cost(llama_shape(), model_of(ideal()), split).local_experts, 0);
}

TEST(ScanCost, IsItsFlopsAndItsBytes) {
  model::TransformerShape shape = llama_shape();
  shape.pattern = "M*";
  shape.ssm_heads = 64;
  shape.ssm_head_dim = 64;
  shape.ssm_state = 128;
  shape.ssm_groups = 8;
  const model::LayerKind layer = model::build_transformer(shape).kinds[1];
  const Operator& scan = find(layer, "ssm_scan");
  // A token: C B^T of 8 groups and X of 64 heads over chunks of 128, states both ways.
  EXPECT_DOUBLE_EQ(scan.flops, 2048.0 * (256 * (128 * 8 + 64 * 64) + 4 * 64 * 128 * 64));
  Parameters p = ideal();
  p.scan_efficiency = 0.1;
  const double bytes = (scan.read_elements + scan.written_elements) * 2;
  const OperatorCost cost = operator_cost(scan, model_of(p), {});
  EXPECT_NEAR(cost.forward, scan.flops / 10e12 + bytes / 1e12, 1e-12);
  EXPECT_NEAR(cost.backward, 2.5 * scan.flops / 10e12 + 2 * bytes / 1e12, 1e-12);
}

TEST(WindowCost, MaskedScoresAreSkippedAsInFullAttention) {
  model::TransformerShape shape = llama_shape();
  shape.window = 256;
  shape.window_interval = 2;
  const model::Model model = model::build_transformer(shape);
  const Operator& near = find(model.kinds[1], "attention");
  const Operator& far = find(model.kinds[2], "attention");
  const KernelModel m = model_of(ideal());
  // 256 keys and the tile at the edge, less the corner before the first 256 tokens.
  EXPECT_NEAR(operator_cost(near, m, {}).forward / operator_cost(far, m, {}).forward,
              384.0 / 2048 * (1 - 256.0 / 4096) / 0.5, 1e-9);
}

// --- GEMM by hand
// ----------------------------------------------------------------------------------

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
  EXPECT_LT(gemm(m, 512, 256, 4096, 32), 32 / 4 * gemm(m, 512, 256, 4096)) << "alone they do not";
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

// --- GEMM properties
// ----------------------------------------------------------------------------------

struct Dims {
  int m, n, k;
};

Dims random_dims() {
  return {*rc::gen::inRange(1, 20000), 64 * *rc::gen::inRange(1, 300),
          64 * *rc::gen::inRange(1, 300)};
}

Parameters random_parameters() {
  Parameters p;
  for (const ParameterInfo& info : parameter_table())
    p.*info.member = info.low + (info.high - info.low) * *rc::gen::inRange(0, 101) * 0.01;
  return p;
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

// --- operators
// ----------------------------------------------------------------------------------------

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

// --- layers
// ------------------------------------------------------------------------------------------

// What every tensor rank holds whole: norms and positions. The rest is divided; the bias of a
// row-split GEMM, h of 4 h^2 numbers, counts as divided too.
double replicated_parameters(const model::LayerKind& layer) {
  double total = 0;
  for (const Operator& op : layer.operators)
    if (op.kind == OpKind::kNorm || op.name == "position_embedding") total += op.parameters;
  return total;
}

TEST(LayerCost, ParametersOfAllTensorRanksAreTheWholeAndTheReplicatedOnes) {
  for (const model::TransformerShape& shape : {gpt_shape(), llama_shape()}) {
    const model::Model m = model::build_transformer(shape);
    for (const model::LayerKind& kind : m.kinds) {
      for (int tp : {1, 2, 4, 8}) {
        const LayerCost cost = layer_cost(kind, model_of(ideal()), {.tp = tp});
        EXPECT_DOUBLE_EQ(tp * cost.parameters,
                         kind.parameters() + (tp - 1) * replicated_parameters(kind))
            << kind.name << " tp " << tp;
      }
    }
  }
}

TEST(LayerCost, ExpertsAreDividedByExpertAndTensorRanks) {
  model::TransformerShape shape = llama_shape();
  shape.experts = 8;
  shape.top_k = 2;
  shape.expert_ffn = 4096;
  const model::LayerKind kind = model::build_transformer(shape).kinds[1];
  const KernelModel m = model_of(ideal());
  const LayerCost whole = layer_cost(kind, m, {});
  EXPECT_EQ(whole.expert_parameters, 8.0 * 3 * 4096 * 4096);
  EXPECT_EQ(whole.parameters + whole.expert_parameters, kind.parameters());
  EXPECT_EQ(layer_cost(kind, m, {.ep = 4}).expert_parameters, whole.expert_parameters / 4);
  EXPECT_EQ(layer_cost(kind, m, {.ep = 4, .expert_tp = 2}).expert_parameters,
            whole.expert_parameters / 8);
  EXPECT_EQ(layer_cost(kind, m, {.ep = 4}).parameters, whole.parameters);
  // Each of s tokens goes to top_k experts as h elements of two bytes.
  EXPECT_EQ(whole.expert_bytes, 2.0 * 2048 * 2 * 4096);
}

TEST(LayerCost, UnfusedAttentionKeepsKorthikantisScores) {
  const double s = 2048, h = 4096, a = 32, b = 4;
  LayerSplit split;
  split.samples = b;
  const LayerCost cost =
      block_cost(gpt_shape(), model_of(ideal(), Precision::kBf16, Attention::kUnfused), split);
  // Korthikanti 2022, equation 1: s b h (34 + 5 a s / h). We have no dropout: neither the masks of
  // its two block outputs (2 s b h) nor the one of the scores (a s^2 b). Four bytes a row and head
  // for the log-sum-exp that fused kernels keep are counted for both.
  const double korthikanti = s * b * h * (34 + 5 * a * s / h);
  const double masks = 2 * s * b * h + a * s * s * b;
  EXPECT_DOUBLE_EQ(cost.saved, korthikanti - masks + 4 * s * a * b);
  EXPECT_DOUBLE_EQ(cost.saved_scores, 4 * a * s * s * b);
  EXPECT_EQ(block_cost(gpt_shape(), model_of(ideal()), split).saved_scores, 0)
      << "fused attention writes none";
}

TEST(LayerCost, SequenceParallelismDividesAllThatIsSaved) {
  const KernelModel m = model_of(ideal(), Precision::kBf16, Attention::kUnfused);
  const double whole = block_cost(gpt_shape(), m, {}).saved;
  for (int tp : {2, 4, 8}) {
    const LayerCost cost = block_cost(gpt_shape(), m, {.tp = tp, .sequence_parallel = true});
    EXPECT_DOUBLE_EQ(cost.saved, whole / tp) << tp;
    EXPECT_DOUBLE_EQ(cost.saved_input, 2.0 * 2048 * 4096 / tp);
  }
}

// Korthikanti 2022, equation 2: s b h (10 + 24 / t + 5 a s / h t) without sequence parallelism; of
// the 10 two are masks.
TEST(LayerCost, TensorParallelismAloneLeavesNormsAndGemmInputsWhole) {
  const double s = 2048, h = 4096, a = 32;
  for (int tp : {2, 4, 8}) {
    const LayerCost cost = block_cost(gpt_shape(), model_of(ideal()), {.tp = tp});
    EXPECT_DOUBLE_EQ(cost.saved, s * h * (8 + 24.0 / tp) + 4 * s * a / tp) << tp;
  }
}

TEST(LayerCost, ContextParallelismDividesTokens) {
  const KernelModel m = model_of(ideal());
  const LayerCost one = block_cost(llama_shape(), m, {});
  const LayerCost four = block_cost(llama_shape(), m, {.cp = 4});
  EXPECT_DOUBLE_EQ(four.saved, one.saved / 4);
  EXPECT_DOUBLE_EQ(four.message, one.message / 4);
  EXPECT_EQ(four.parameters, one.parameters);
}

TEST(LayerCost, IsTheSumOfItsOperators) {
  const model::Model m = model::build_transformer(llama_shape());
  const KernelModel kernels = model_of(Parameters{});
  const LayerSplit split{.tp = 4, .sequence_parallel = true, .samples = 2};
  for (const model::LayerKind& kind : m.kinds) {
    OperatorCost sum;
    for (const Operator& op : kind.operators) {
      const OperatorCost cost = operator_cost(op, kernels, split);
      sum.forward += cost.forward;
      sum.backward += cost.backward;
      sum.saved += cost.saved;
      sum.parameters += cost.parameters;
    }
    const LayerCost cost = layer_cost(kind, kernels, split);
    EXPECT_DOUBLE_EQ(cost.forward, sum.forward) << kind.name;
    EXPECT_DOUBLE_EQ(cost.backward, sum.backward) << kind.name;
    EXPECT_DOUBLE_EQ(cost.saved, sum.saved) << kind.name;
    EXPECT_DOUBLE_EQ(cost.parameters, sum.parameters) << kind.name;
  }
}

TEST(LayerCost, FusedSoftmaxNeedsFourScoreMatrices) {
  const KernelModel m = model_of(ideal(), Precision::kBf16, Attention::kUnfused);
  EXPECT_EQ(block_cost(gpt_shape(), m, {.tp = 8}).softmax_fallback, 0) << "32 / 8 heads";
  EXPECT_EQ(block_cost(gpt_shape(), m, {.tp = 16}).softmax_fallback, 1) << "two heads";
  EXPECT_EQ(block_cost(gpt_shape(), m, {.tp = 16, .samples = 2}).softmax_fallback, 0);
}

RC_GTEST_PROP(LayerProperty, SavedBytesFallWithTensorDegreeUnderSequenceParallelism, ()) {
  model::TransformerShape shape = *rc::gen::arbitrary<bool>() ? gpt_shape() : llama_shape();
  shape.layers = 1;
  shape.hidden = 64 * 8 * *rc::gen::inRange(1, 20);
  shape.heads = 8 * *rc::gen::element(1, 2, 4);
  shape.kv_heads = 8;
  shape.ffn = 64 * 8 * *rc::gen::inRange(1, 60);
  shape.seq = 1 << *rc::gen::inRange(8, 14);
  const KernelModel m =
      model_of(random_parameters(), Precision::kBf16,
               *rc::gen::arbitrary<bool>() ? Attention::kFlash : Attention::kUnfused);
  const model::LayerKind kind = model::build_transformer(shape).kinds[1];
  LayerSplit split;
  split.sequence_parallel = true;
  split.samples = *rc::gen::inRange(1, 9);
  double before = 0;
  for (int tp : {1, 2, 4, 8}) {
    split.tp = tp;
    const double saved = layer_cost(kind, m, split).saved;
    RC_ASSERT(tp == 1 || saved < before);
    before = saved;
  }
}

RC_GTEST_PROP(LayerProperty, BetterDevicesAreNeverSlower, ()) {
  const Parameters p = random_parameters();
  cluster::Device better = device();
  better.memory_bandwidth *= 1 + *rc::gen::inRange(0, 100) * 0.1;
  const double compute = 1 + *rc::gen::inRange(0, 100) * 0.1;
  for (FlopsPerSecond& peak : better.peak) peak *= compute;
  const auto precision = *rc::gen::element(Precision::kBf16, Precision::kFp8);
  const auto attention = *rc::gen::element(Attention::kFlash, Attention::kUnfused);
  const KernelModel slow(device(), p, precision, attention);
  const KernelModel fast(better, p, precision, attention);
  LayerSplit split;
  split.tp = *rc::gen::element(1, 2, 4, 8);
  split.sequence_parallel = *rc::gen::arbitrary<bool>();
  split.samples = *rc::gen::inRange(1, 9);
  const model::Model m = model::build_transformer(llama_shape());
  for (const model::LayerKind& kind : m.kinds) {
    const LayerCost a = layer_cost(kind, slow, split);
    const LayerCost b = layer_cost(kind, fast, split);
    RC_ASSERT(b.forward <= a.forward && b.backward <= a.backward);
  }
}

}  // namespace
}  // namespace nereus::cost::kernel_time_test
