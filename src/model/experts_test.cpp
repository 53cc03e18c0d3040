// Mixtures of experts and hybrids: what released checkpoints hold, and how their layers are laid
// out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "model/model.hpp"
#include "model/read/load_model.hpp"

namespace nereus::model::experts_test {
namespace {

struct Published {
  const char* name;
  double parameters;
  double tolerance;  // published figures are rounded, or count a part that is left out here
};

void PrintTo(const Published& model, std::ostream* out) { *out << model.name; }

class PublishedTotal : public ::testing::TestWithParam<Published> {};

TEST_P(PublishedTotal, IsTheCataloguesToo) {
  const Published& model = GetParam();
  EXPECT_NEAR(load_model(model.name).parameters(), model.parameters,
              model.tolerance * model.parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Experts, PublishedTotal,
    ::testing::Values(
        Published{"mixtral-8x7b", 46'702'792'704, 0},
        Published{"mixtral-8x22b", 140'620'634'112, 0},
        Published{"qwen3-30b-a3b", 30'532'122'624, 0},
        Published{"qwen3-235b-a22b", 235'093'634'560, 0}, Published{"deepseek-v3", 671e9, 0.001},
        // 14 B of the module less its own copies of embedding and head (2 x 0.93 B).
        Published{"deepseek-v3-mtp", 671e9 + 14e9 - 1.85e9, 0.002},
        Published{"deepseek-v4-flash", 284.44e9, 0.001}, Published{"kimi-k2", 1.04e12, 0.015},
        Published{"gpt-oss-120b", 116.83e9, 0.001}, Published{"gpt-oss-20b", 20.91e9, 0.001},
        Published{"grok-1", 314e9, 0.01},
        Published{"llama4-scout", 109e9, 0.015},  // with the image part
        Published{"llama4-maverick", 400e9, 0.005}, Published{"nemotron-3-nano", 31.6e9, 0.001},
        Published{"nemotron-3-super", 120.6e9, 0.002}, Published{"nemotron-3-ultra", 550e9, 0.005}),
    [](const auto& row) {
      std::string name = row.param.name;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
      return name;
    });

int count(const Model& model, const std::string& name) {
  int layers = 0;
  for (int i = 0; i < model.num_layers(); ++i) layers += model.layer(i).name == name ? 1 : 0;
  return layers;
}

TEST(HybridLayers, FollowThePattern) {
  const Model nano = load_model("nemotron-3-nano");
  EXPECT_EQ(count(nano, "mamba_layer"), 23);
  EXPECT_EQ(count(nano, "experts_layer"), 23);
  EXPECT_EQ(count(nano, "attention_layer"), 6);
  EXPECT_EQ(nano.layer(1).name, "mamba_layer");
  EXPECT_EQ(nano.layer(6).name, "attention_layer");
  EXPECT_EQ(nano.layer(1).mixers, 1);
}

// x, z, B, C and dt in; the convolution over x, B and C with its bias; decay, skip and bias of dt;
// a norm; out.
TEST(HybridLayers, AMambaLayerHasItsPublishedWeights) {
  const Model nano = load_model("nemotron-3-nano");
  const double h = 2688, inner = 64 * 64, states = 2 * 8 * 128;
  EXPECT_EQ(nano.layer(1).parameters(),
            h + h * (2 * inner + states + 64) + 5 * (inner + states) + 3 * 64 + inner + inner * h);
}

TEST(HybridLayers, APatternMustNameEveryLayer) {
  try {
    load_model("nemotron-3-nano", {{"layers", "4"}});
    FAIL() << "52 letters for 4 layers";
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list().front().code, "model.pattern");
    EXPECT_THAT(errors.list().front().message,
                ::testing::AllOf(::testing::HasSubstr("52"), ::testing::HasSubstr("4")));
  }
  EXPECT_THROW(load_model("nemotron-3-nano", {{"layers", "2"}, {"pattern", "\"MX\""}}), Errors);
  EXPECT_THROW(load_model("nemotron-3-nano", {{"ssm_state", "0"}}), Errors);
}

TEST(ExpertLayers, StandWhereTheModelSays) {
  const Model maverick = load_model("llama4-maverick");
  EXPECT_EQ(count(maverick, "expert_block"), 24);
  EXPECT_EQ(maverick.layer(1).name, "block");
  EXPECT_EQ(maverick.layer(2).name, "expert_block");
  const Model deepseek = load_model("deepseek-v3-mtp");
  EXPECT_EQ(count(deepseek, "block"), 3);
  EXPECT_EQ(count(deepseek, "expert_block"), 58);
  EXPECT_EQ(count(deepseek, "mtp_block"), 1);
}

TEST(ExpertLayers, WindowsTakeTurns) {
  const Model oss = load_model("gpt-oss-120b");
  EXPECT_EQ(oss.layer(1).name, "window_expert_block");
  EXPECT_EQ(oss.layer(2).name, "expert_block");
  EXPECT_EQ(count(oss, "window_expert_block"), 18);
}

// NVIDIA's own count of DeepSeek-V3: 249.6 GFLOP a token without and 260 with the second token
// (Megatron-Bridge performance summary). It halves causal attention, which we count whole.
TEST(ExpertFlops, OfDeepSeekAreNvidias) {
  const auto per_token = [](const char* name) {
    const Model model = load_model(name);
    double attention = 0;
    for (int i = 0; i < model.num_layers(); ++i)
      for (const Operator& op : model.layer(i).operators)
        if (op.kind == OpKind::kAttention) attention += 3 * op.flops;
    return (model.training_flops() - attention / 2) / model.tokens_per_sample;
  };
  EXPECT_NEAR(per_token("deepseek-v3"), 249.6e9, 0.01 * 249.6e9);
  EXPECT_NEAR(per_token("deepseek-v3-mtp"), 260e9, 0.01 * 260e9);
  EXPECT_NEAR(per_token("qwen3-235b-a22b"), 148e9, 0.01 * 148e9);
  EXPECT_NEAR(per_token("nemotron-3-super-mtp"), 84.7e9, 0.02 * 84.7e9);
}

}  // namespace
}  // namespace nereus::model::experts_test
