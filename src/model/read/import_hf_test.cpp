#include "model/read/import_hf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "model/read/load_model.hpp"

namespace nereus::model::import_hf_test {
namespace {

double parameters(const std::string& json, const Overrides& overrides = {}) {
  return load_model_text(json, "config.json", overrides).parameters();
}

// Public configs, cut down to the keys that matter; parameters are those of the released
// checkpoints.
TEST(ImportHf, ReleasedConfigsGiveTheirParameters) {
  EXPECT_EQ(parameters(
                R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_ctx": 1024,
                           "n_positions": 1024, "vocab_size": 50257})"),
            124439808);
  EXPECT_EQ(parameters(R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
                           "max_position_embeddings": 8192, "num_attention_heads": 32, "num_hidden_layers": 32,
                           "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": false})"),
            8030261248);
  EXPECT_EQ(
      parameters(
          R"({"model_type": "mistral", "num_key_value_heads": 8, "max_position_embeddings": 32768})"),
      7241732096);
  EXPECT_EQ(parameters(R"({"model_type": "mixtral", "max_position_embeddings": 32768})"),
            46702792704);
  EXPECT_EQ(parameters(R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32,
                           "vocab_size": 50432, "attn_config": {"alibi": true}})"),
            6649286656);
  EXPECT_EQ(parameters(R"({"model_type": "qwen3_moe", "num_hidden_layers": 48, "head_dim": 128})"),
            30532122624);
  EXPECT_EQ(parameters(R"({"model_type": "opt"})"), 125239296);  // facebook/opt-125m
  EXPECT_NEAR(parameters(R"({"model_type": "deepseek_v3"})"), 671.03e9, 1e-4 * 671e9);
  EXPECT_NEAR(parameters(R"({"model_type": "gpt_neox"})"), 20554567680.0,
              1e-3 * 20e9);  // gpt-neox-20b
  EXPECT_NEAR(parameters(R"({"model_type": "phi3"})"), 3821079552.0, 1e-3 * 3.8e9);
  EXPECT_NEAR(parameters(R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
                             "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
                             "vocab_size": 152064})"),
              7615616512.0, 1e-4 * 7.6e9);
  EXPECT_NEAR(parameters(R"({"model_type": "bert"})"), 109514298.0, 1e-3 * 109e6);
  EXPECT_NEAR(parameters(R"({"model_type": "gpt_oss"})"), 116.83e9, 1e-3 * 117e9);
}

TEST(ImportHf, AgreesWithTheCatalogue) {
  Model hf =
      load_model_text(R"({"model_type": "qwen3_moe", "num_hidden_layers": 94, "hidden_size": 4096,
                                 "num_attention_heads": 64, "head_dim": 128, "moe_intermediate_size": 1536})",
                      "config.json", {{"seq", "4096"}, {"name", "\"qwen3-235b-a22b\""}});
  EXPECT_EQ(hf, load_model("qwen3-235b-a22b"));
}

TEST(ImportHf, ReadsHybridsAsTheCatalogueDoes) {
  const Model hf = load_model_text(
      R"({"model_type": "nemotron_h", "num_hidden_layers": 52, "hidden_size": 2688,
          "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
          "intermediate_size": 1856, "num_attention_heads": 32, "num_key_value_heads": 2,
          "head_dim": 128, "mamba_num_heads": 64, "n_routed_experts": 128,
          "num_experts_per_tok": 6, "moe_intermediate_size": 1856,
          "moe_shared_expert_intermediate_size": 3712})",
      "config.json", {{"seq", "8192"}, {"name", "\"nemotron-3-nano\""}});
  const Model known = load_model("nemotron-3-nano");
  EXPECT_EQ(hf.layers, known.layers);
  EXPECT_EQ(hf.kinds, known.kinds);
}

TEST(ImportHf, NullAndAbsentDifferWhereTransformersSaysSo) {
  const auto window = [](const char* json) {
    return load_model_text(json, "config.json").transformer->window;
  };
  EXPECT_EQ(window(R"({"model_type": "mistral"})"), 4096);
  EXPECT_EQ(window(R"({"model_type": "mistral", "sliding_window": null})"), 0);
  EXPECT_EQ(load_model_text(R"({"model_type": "deepseek_v3", "q_lora_rank": null})", "config.json")
                .transformer->q_lora,
            0);
}

TEST(ImportHf, SequenceIsTheModelsOwnUnlessGiven) {
  const std::string json = R"({"model_type": "llama", "max_position_embeddings": 131072})";
  EXPECT_EQ(load_model_text(json, "config.json").tokens_per_sample, 131072);
  EXPECT_EQ(load_model_text(json, "config.json", {{"seq", "8192"}}).tokens_per_sample, 8192);
}

TEST(ImportHf, UnknownTypesNameTheKnownOnes) {
  try {
    load_model_text(R"({"model_type": "qwen2_vl"})", "config.json");
    FAIL();
  } catch (const Errors& e) {
    EXPECT_EQ(e.list()[0].code, "model.hf-type");
    EXPECT_EQ(e.list()[0].where.line, 1);
    for (const std::string& type : hf_model_types())
      EXPECT_THAT(e.list()[0].hint, ::testing::HasSubstr(type));
  }
}

TEST(ImportHf, WrongValuesAreErrors) {
  for (const char* json :
       {R"({"model_type": 7})", R"({"model_type": "llama", "hidden_size": "wide"})",
        R"({"model_type": "llama", "num_hidden_layers": 0})",
        R"({"model_type": "llama", "num_attention_heads": 31})",
        R"({"model_type": "llama", "hidden_size": 1e300})",
        R"({"model_type": "mpt", "attn_config": 3})",
        R"({"model_type": "qwen3_moe", "decoder_sparse_step": 2})", R"({"model_type": )"})
    EXPECT_THROW(load_model_text(json, "config.json"), Errors) << json;
}

}  // namespace
}  // namespace nereus::model::import_hf_test
