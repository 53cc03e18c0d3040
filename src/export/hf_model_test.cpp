#include "export/hf_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/base_testing.hpp"
#include "model/read/load_model.hpp"

namespace nereus::exporting::hf_model_test {
namespace {

using ::nereus::testing::codes_of;
using ::testing::ElementsAre;
using Json = nlohmann::json;

Json config_of(const std::string& name, const model::Overrides& overrides = {}) {
  return Json::parse(hf_model(model::load_model(name, overrides), "bfloat16").config);
}

TEST(HfModel, SaysWhatTransformersAsks) {
  const Json gpt = config_of("gpt2", {{"seq", "512"}});
  EXPECT_EQ(gpt["model_type"], "gpt2");
  EXPECT_EQ(gpt["architectures"], Json{"GPT2LMHeadModel"});
  EXPECT_EQ(gpt["n_positions"], 1024);  // the table keeps its size though training saw less
  EXPECT_EQ(gpt["eos_token_id"], 50256);
  EXPECT_EQ(gpt["tie_word_embeddings"], true);
  EXPECT_EQ(gpt["torch_dtype"], "bfloat16");

  const Json llama = config_of("llama3-8b");
  EXPECT_EQ(llama["model_type"], "llama");
  EXPECT_EQ(llama["num_key_value_heads"], 8);
  EXPECT_EQ(llama["intermediate_size"], 14336);
  EXPECT_EQ(llama["tie_word_embeddings"], false);
  EXPECT_TRUE(llama["eos_token_id"].is_null());

  const Json bert = config_of("bert-base");
  EXPECT_EQ(bert["architectures"], Json{"BertForMaskedLM"});
  EXPECT_EQ(bert["hidden_size"], 768);
}

TEST(HfModel, LeavesTiedWeightsOut) {
  EXPECT_THAT(hf_model(model::load_model("gpt2"), "float32").left_out,
              ElementsAre("lm_head.weight"));
  EXPECT_TRUE(hf_model(model::load_model("llama3-8b"), "float32").left_out.empty());
}

TEST(HfModel, ConvolutionalNetworksAreTorchvisions) {
  EXPECT_EQ(config_of("resnet50")["model"], "resnet50");
  EXPECT_EQ(config_of("resnet50", {{"width", "2"}})["model"], "wide_resnet50_2");
  EXPECT_EQ(config_of("resnet18", {{"classes", "10"}})["num_classes"], 10);
  EXPECT_EQ(config_of("resnet18")["library"], "torchvision");
  for (const char* name : {"alexnet", "squeezenet1_0", "mobilenet_v2", "shufflenet_v2_x0_5"})
    EXPECT_EQ(config_of(name)["model"], name);
}

TEST(HfModel, ResnetsThatTorchvisionHasNotAreRefused) {
  for (const model::Overrides& overrides : {model::Overrides{{"channels", "16"}},
                                            {{"depth", "10"}},
                                            {{"batch_norm", "false"}},
                                            {{"depth", "50"}, {"width", "3"}}})
    EXPECT_THAT(codes_of([&] { config_of("resnet18", overrides); }),
                ElementsAre("export.cannot-express"));
  EXPECT_THAT(codes_of([&] {
                config_of("mobilenet_v2", {{"channels", "16"}});
              }),
              ElementsAre("export.cannot-express"));
}

TEST(HfModel, OnesOwnModelsAreNamedByTheirId) {
  model::Model model;
  model.name = "mine";
  model.family = "script";
  model.script = {"/somewhere/mine", "0123"};
  const Json config = Json::parse(hf_model(model, "float32").config);
  EXPECT_EQ(config["library"], "nereus_export");
  EXPECT_EQ(config["id"], "0123");
}

// Every model of the catalogue: a config that reads back the same (hf_model checks), or an error.
TEST(HfModel, EveryModelIsSaidOrRefused) {
  int said = 0, refused = 0;
  for (const std::string& name : model::catalogue_model_names()) {
    const model::Model model = model::load_model(name);
    const std::vector<std::string> codes = codes_of([&] { hf_model(model, "float32"); });
    if (codes.empty()) {
      ++said;
      EXPECT_FALSE(model.transformer && model.transformer->experts > 0) << name;
    } else {
      ++refused;
      EXPECT_THAT(codes, ElementsAre("export.cannot-express")) << name;
    }
  }
  EXPECT_GT(said, 20);
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace nereus::exporting::hf_model_test
