#include "calibrate/known_models.hpp"

#include <gtest/gtest.h>

#include "model/read/load_model.hpp"

namespace nereus::calibrate::known_models_test {
namespace {

// What the columns of a table say of a model: no latent sizes, windows, patterns.
model::TransformerShape columns(const char* name) {
  const model::TransformerShape whole = *model::load_model(name).transformer;
  model::TransformerShape shape;
  shape.layers = whole.layers;
  shape.hidden = whole.hidden;
  shape.heads = whole.heads;
  shape.experts = whole.experts;
  shape.top_k = whole.top_k;
  shape.expert_ffn = whole.expert_ffn;
  shape.seq = 8192;
  return shape;
}

std::string name_of(const char* sizes_of, const char* row_model) {
  const auto known = known_shape(columns(sizes_of), row_model);
  return known ? known->name : "none";
}

TEST(KnownModels, AreFoundByTheirSizesWhateverTheirName) {
  EXPECT_EQ(name_of("llama4-maverick", "some run"), "llama4-maverick");
  EXPECT_EQ(name_of("gpt-oss-120b", "GPT OSS 120B"), "gpt-oss-120b");
  EXPECT_EQ(known_shape(columns("gpt-oss-120b"), "x")->window_interval, 2);
  EXPECT_EQ(known_shape(columns("gpt-oss-120b"), "x")->seq, 8192) << "the row's own";
}

TEST(KnownModels, AreTakenAsTheyAreTrained) {
  EXPECT_EQ(name_of("deepseek-v3", "DeepSeekV3"), "deepseek-v3-mtp");
  EXPECT_EQ(name_of("deepseek-v3", "DeepSeekV3 (w/o MTP)"), "deepseek-v3");
  EXPECT_EQ(name_of("nemotron-3-nano", "Nemotron_3_Nano"), "nemotron-3-nano");
  EXPECT_EQ(name_of("nemotron-3-nano", "Nemotron_3_5_Lightning"), "nemotron-3.5-lightning");
}

TEST(KnownModels, KeepTheLayersOfARowThatCutThem) {
  model::TransformerShape proxy = columns("grok-1");
  proxy.layers = 2;
  EXPECT_EQ(known_shape(proxy, "Grok1-314B")->layers, 2);
  model::TransformerShape hybrid = columns("nemotron-3-nano");
  hybrid.layers = 10;
  EXPECT_FALSE(known_shape(hybrid, "Nemotron_3_Nano")) << "nobody says which ten";
}

TEST(KnownModels, OtherSizesAndDenseModelsAreNotTheirs) {
  model::TransformerShape other = columns("grok-1");
  other.top_k = 4;
  EXPECT_FALSE(known_shape(other, "Grok1-314B"));
  EXPECT_FALSE(known_shape(model::TransformerShape{}, "Grok1-314B"));
}

}  // namespace
}  // namespace nereus::calibrate::known_models_test
