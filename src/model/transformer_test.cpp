#include "model/transformer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "model/model.hpp"

namespace nereus::model::transformer_test {
namespace {

TransformerShape gpt(int layers, int hidden, int heads, int vocab, int seq) {
  TransformerShape shape;
  shape.layers = layers;
  shape.hidden = hidden;
  shape.heads = heads;
  shape.ffn = 4 * hidden;
  shape.vocab = vocab;
  shape.seq = seq;
  shape.tied_embeddings = true;
  return shape;
}

TransformerShape llama(int layers, int hidden, int heads, int kv_heads, int ffn, int vocab) {
  TransformerShape shape = gpt(layers, hidden, heads, vocab, 4096);
  shape.family = "llama";
  shape.kv_heads = kv_heads;
  shape.ffn = ffn;
  shape.tied_embeddings = false;
  shape.gated_mlp = true;
  shape.bias = false;
  shape.norm = NormKind::kRmsNorm;
  shape.position = PositionKind::kRotary;
  return shape;
}

const LayerKind& block_of(const Model& m) {
  const auto at = std::find_if(m.kinds.begin(), m.kinds.end(),
                               [](const LayerKind& k) { return k.role == LayerRole::kBlock; });
  return *at;
}

std::vector<std::string> codes_of(const TransformerShape& shape) {
  std::vector<std::string> codes;
  try {
    resolve(shape);
  } catch (const Errors& errors) {
    for (const Error& error : errors.list()) codes.push_back(error.code);
  }
  return codes;
}

// --- parameters: what released checkpoints hold -----------------------------------------------

TEST(TransformerParameters, Gpt2CountsItsTiedHeadOnce) {
  EXPECT_EQ(build_transformer(gpt(12, 768, 12, 50257, 1024)).parameters(), 124'439'808);
}

TEST(TransformerParameters, LlamasAreTheReleasedOnes) {
  EXPECT_EQ(build_transformer(llama(32, 4096, 32, 0, 11008, 32000)).parameters(), 6'738'415'616);
  EXPECT_EQ(build_transformer(llama(32, 4096, 32, 8, 14336, 128256)).parameters(), 8'030'261'248);
  EXPECT_EQ(build_transformer(llama(80, 8192, 64, 8, 28672, 128256)).parameters(), 70'553'706'496);
}

TEST(TransformerParameters, MixtralHasEightExpertsAndARouterInEveryBlock) {
  TransformerShape shape = llama(32, 4096, 32, 8, 14336, 32000);
  shape.experts = 8;
  shape.top_k = 2;
  const Model m = build_transformer(shape);
  EXPECT_EQ(m.parameters(), 46'702'792'704);
  EXPECT_EQ(block_of(m).expert_parameters(), 8.0 * 3 * 4096 * 14336);
}

// 671 B is DeepSeek's own figure for the main model; the checkpoint's 685 B count the module that
// predicts a second token, which is left out here.
TEST(TransformerParameters, DeepSeekV3WithoutItsSecondToken) {
  TransformerShape shape = llama(61, 7168, 128, 0, 18432, 129280);
  shape.head_dim = 128;
  shape.value_head_dim = 128;
  shape.rope_head_dim = 64;
  shape.q_lora = 1536;
  shape.kv_lora = 512;
  shape.experts = 256;
  shape.top_k = 8;
  shape.expert_ffn = 2048;
  shape.shared_experts = 1;
  shape.dense_layers = 3;
  EXPECT_NEAR(build_transformer(shape).parameters(), 671e9, 0.01 * 671e9);
}

// BertForMaskedLM has 335,174,458: no pooler, the decoder tied to the embedding, its bias counted.
TEST(TransformerParameters, BertLargeIsItsMaskedLanguageModel) {
  TransformerShape shape = gpt(24, 1024, 16, 30522, 512);
  shape.family = "bert";
  shape.causal = false;
  const double h = 1024, v = 30522;
  const double embedding = v * h + 512 * h + 2 * h + 2 * h;  // words, positions, types, norm
  const double blocks = 24 * (12 * h * h + 13 * h);
  const double head = (h * h + h) + 2 * h + v;  // transform, its norm, the decoder's bias
  const Model m = build_transformer(shape);
  EXPECT_EQ(m.parameters(), embedding + blocks + head);
  EXPECT_EQ(m.parameters(), 335'174'458);
  EXPECT_EQ(masked_positions(512), 77);
}

TEST(TransformerParameters, VisionTransformerIsTorchvisions) {
  TransformerShape shape = gpt(12, 768, 12, 1000, 0);
  shape.family = "vit";
  shape.tied_embeddings = false;
  shape.causal = false;
  shape.patch = 16;
  shape.image = 224;
  const Model m = build_transformer(shape);
  EXPECT_EQ(m.parameters(), 86'567'656);
  EXPECT_EQ(m.tokens_per_sample, 0) << "an image is not made of tokens";
}

// --- FLOPs -------------------------------------------------------------------------------------

// 6 for every weight of a matrix product, and 12 l h s for the scores of full attention (Narayanan
// 2021); a norm, a bias or a table of positions multiplies nothing.
TEST(TransformerFlops, OfATokenAreSixPerMatrixWeightAndTwelveLhs) {
  const double l = 12, h = 768, s = 1024, v = 50257;
  const Model m = build_transformer(gpt(12, 768, 12, 50257, 1024));
  const double matrices = l * 12 * h * h + v * h;
  EXPECT_DOUBLE_EQ(m.training_flops() / s, 6 * matrices + 12 * l * h * s);
  EXPECT_NEAR(m.training_flops() / s, 6 * m.parameters() + 12 * l * h * s, 0.01 * 6 * matrices);
}

TEST(TransformerFlops, OfLlamaAreCloseToTheRuleWithoutTheEmbedding) {
  const Model m = build_transformer(llama(80, 8192, 64, 8, 28672, 128256));
  const double without_embedding = m.parameters() - 128256.0 * 8192;
  const double rule = 6 * without_embedding + 12.0 * 80 * 8192 * 4096;
  EXPECT_NEAR(m.training_flops() / 4096, rule, 1e-4 * rule);
}

// Narayanan 2021, equation 3, without its recompute: 72 B s l h^2 (1 + s / 6h + V / 12 l h).
TEST(TransformerFlops, OfGpt3AgreeWithTheFormulaOfMegatron) {
  const double l = 96, h = 12288, s = 2048, v = 51200;
  const Model m = build_transformer(gpt(96, 12288, 96, 51200, 2048));
  const double formula = 72 * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
  EXPECT_NEAR(m.training_flops(), formula, 1e-9 * formula);
}

TEST(TransformerFlops, CountOnlyTheExpertsThatATokenVisits) {
  TransformerShape shape = llama(1, 1024, 8, 0, 4096, 1000);
  shape.experts = 16;
  shape.top_k = 2;
  const Model sparse = build_transformer(shape);
  shape.top_k = 4;
  const Model twice = build_transformer(shape);
  const double one_expert = 3 * 2.0 * 4096 * 1024 * 4096;  // forward, one token to one expert
  EXPECT_DOUBLE_EQ(block_of(twice).forward_flops() - block_of(sparse).forward_flops(),
                   2 * (one_expert + 4096.0 * 4096 * 3 + 2 * 2 * 4096.0 * 1024))
      << "two more experts: their products, the gated activation, permute and combine";
}

TEST(TransformerFlops, AWindowBoundsTheKeysOfAQuery) {
  TransformerShape shape = gpt(1, 1024, 8, 1000, 4096);
  const Model full = build_transformer(shape);
  shape.window = 1024;
  const Model windowed = build_transformer(shape);
  EXPECT_DOUBLE_EQ(full.training_flops() - windowed.training_flops(),
                   3 * 4.0 * 4096 * (4096 - 1024) * 1024);
  shape.window = 1 << 20;
  EXPECT_DOUBLE_EQ(build_transformer(shape).training_flops(), full.training_flops());
}

// --- saved activations ---------------------------------------------------------------------------

double saved_bytes(const LayerKind& layer, double element) {
  double total = 0;
  for (const Operator& op : layer.operators) total += op.saved_elements * element + op.saved_bytes;
  return total;
}

// Korthikanti 2022, equation 1: s b h (34 + 5 a s / h) bytes in 16 bit. Of these, 5 a s / h are the
// score matrices, which only exist if attention is not fused (cost/kernel_time.hpp), and 2 are the
// masks of two dropouts, which are no longer used in training: 32. Fused attention adds four bytes
// of log-sum-exp per row and head.
TEST(TransformerActivations, OfABlockAreKorthikantisLessScoresAndDropoutMasks) {
  const double s = 2048, h = 6144, a = 64;
  const Model m = build_transformer(gpt(48, 6144, 64, 51200, 2048));
  EXPECT_EQ(saved_bytes(block_of(m), 2), 32 * s * h + 4 * s * a);
}

// LLaMA keeps the same with fewer keys and values (g of a) and the gate: input of 2 norms, qkv and
// up 8; q, k, v 2 + 4 g/a; output 2; up and gate 4 f/h, their product 2 f/h.
TEST(TransformerActivations, OfALlamaBlockByHand) {
  const double s = 4096, h = 8192, f = 28672, a = 64, g = 8;
  const Model m = build_transformer(llama(80, 8192, 64, 8, 28672, 128256));
  EXPECT_EQ(saved_bytes(block_of(m), 2), s * h * (8 + 2 + 4 * g / a + 2 + 6 * f / h) + 4 * s * a);
}

// --- structure -----------------------------------------------------------------------------------

TEST(TransformerLayers, AreAnEmbeddingTheBlocksAndAHead) {
  TransformerShape shape = llama(5, 64, 4, 0, 128, 100);
  shape.experts = 4;
  shape.top_k = 1;
  shape.dense_layers = 2;
  const Model m = build_transformer(shape);
  std::vector<std::string> names;
  for (int i = 0; i < m.num_layers(); ++i) names.push_back(m.layer(i).name);
  EXPECT_THAT(names, ::testing::ElementsAre("embedding", "block", "block", "expert_block",
                                            "expert_block", "expert_block", "head"));
  EXPECT_EQ(m.kinds.size(), 4u) << "equal layers share one kind";
}

TEST(TransformerLayers, WhatALayerHandsOnIsWhatTheNextReads) {
  const Model m = build_transformer(gpt(3, 64, 4, 100, 32));
  for (int i = 0; i + 1 < m.num_layers(); ++i)
    EXPECT_EQ(m.layer(i).output_elements, m.layer(i + 1).input_elements) << i;
}

TEST(TransformerShape, DerivesWhatIsNotStated) {
  const TransformerShape shape = resolve(gpt(2, 96, 4, 100, 32));
  EXPECT_EQ(shape.kv_heads, 4);
  EXPECT_EQ(shape.head_dim, 24);
  EXPECT_EQ(shape.value_head_dim, 24);
  EXPECT_EQ(shape.max_positions, 32);
  TransformerShape vision = gpt(2, 96, 4, 10, 0);
  vision.patch = 4;
  vision.image = 12;
  EXPECT_EQ(resolve(vision).seq, 9 + 1) << "patches and the class token";
}

TEST(TransformerShape, SaysEverythingThatCannotBeAtOnce) {
  EXPECT_THAT(codes_of(TransformerShape{}),
              ::testing::ElementsAre("model.shape", "model.shape", "model.shape", "model.shape",
                                     "model.shape", "model.shape"))
      << "layers, hidden, heads, seq, vocab, ffn";
  TransformerShape shape = gpt(-1, 100, 12, 100, 32);
  shape.kv_heads = 5;
  shape.experts = 4;
  shape.top_k = 5;
  shape.expert_ffn = -8;
  shape.dense_layers = 3;
  EXPECT_THAT(codes_of(shape),
              ::testing::ElementsAre("model.shape", "model.heads", "model.kv-heads", "model.shape",
                                     "model.top-k", "model.dense-layers"));
}

TEST(TransformerShape, ErrorsCarryTheNumbers) {
  try {
    resolve(gpt(2, 100, 12, 100, 32));
    FAIL() << "100 is not a multiple of 12";
  } catch (const Errors& errors) {
    EXPECT_THAT(errors.list().front().message,
                ::testing::AllOf(::testing::HasSubstr("100"), ::testing::HasSubstr("12")));
    EXPECT_FALSE(errors.list().front().hint.empty());
  }
}

TEST(TransformerShape, AStatedHeadSizeNeedNotDivideHidden) {
  TransformerShape shape = gpt(2, 100, 12, 100, 32);
  shape.head_dim = 16;
  EXPECT_EQ(codes_of(shape), std::vector<std::string>{});
}

RC_GTEST_PROP(TransformerProperty, BlocksAddUpToTheModel, ()) {
  const int heads = *rc::gen::inRange(1, 17);
  TransformerShape shape = gpt(*rc::gen::inRange(1, 40), heads * *rc::gen::inRange(1, 65), heads,
                               *rc::gen::inRange(1, 1000), *rc::gen::inRange(1, 100));
  shape.gated_mlp = *rc::gen::arbitrary<bool>();
  shape.bias = *rc::gen::arbitrary<bool>();
  const Model tied = build_transformer(shape);
  shape.tied_embeddings = false;
  const Model untied = build_transformer(shape);
  const double table = static_cast<double>(shape.vocab) * shape.hidden;
  RC_ASSERT(untied.parameters() - tied.parameters() == table);
  RC_ASSERT(untied.training_flops() == tied.training_flops());
  const double ends = untied.kinds.front().parameters() + untied.kinds.back().parameters();
  RC_ASSERT(untied.parameters() == shape.layers * block_of(untied).parameters() + ends);
}

}  // namespace
}  // namespace nereus::model::transformer_test
