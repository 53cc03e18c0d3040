#include "cost/layer_cost.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "cost/kernel_testing.hpp"

namespace nereus::cost::layer_cost_test {
namespace {

using cluster::Precision;
using model::Operator;
using model::OpKind;
using plan::Attention;
using namespace testing;  // of this folder

// --- experts and scans -----------------------------------------------------------------------

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

// --- layers --------------------------------------------------------------------------------------

// Parameters that every tensor rank holds completely: norms and positions. The rest is divided; the
// bias of a row-split GEMM, h of 4 h^2 numbers, counts as divided too.
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
}  // namespace nereus::cost::layer_cost_test
