#include "model/read/load_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace nereus::model::load_model_test {
namespace {

using ::testing::HasSubstr;

Errors errors_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Errors& errors) {
    return errors;
  }
  ADD_FAILURE() << "no error";
  return Errors({});
}

TEST(Catalogue, HoldsEveryPromisedName) {
  const std::vector<std::string> names = catalogue_model_names();
  for (const char* name :
       {"gpt2", "gpt2-xl", "gpt3-175b", "megatron-1t", "turing-530b", "llama2-7b", "llama2-70b",
        "llama3-8b", "llama3-70b", "llama3-405b", "mixtral-8x7b", "deepseek-v3", "bert-large",
        "opt-350m", "resnet50", "vgg16", "inception-v3", "dlrm", "wide-resnet101-2"})
    EXPECT_THAT(names, ::testing::Contains(name));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size())
      << "a name occurs twice";
}

TEST(Catalogue, EveryModelBuildsAndStatesItsSource) {
  ASSERT_GE(catalogue_models().size(), 50U);
  for (const CatalogueModel& entry : catalogue_models()) {
    const Model m = load_model(entry.name);
    EXPECT_EQ(m.name, entry.name);
    EXPECT_EQ(m.family, entry.family);
    EXPECT_FALSE(entry.source.empty()) << entry.name;
    EXPECT_GT(m.parameters(), 1e6) << entry.name;
    EXPECT_GT(m.training_flops(), 0) << entry.name;
  }
}

struct Published {
  const char* name;
  double parameters;
  double tolerance;  // relative; 0: exact
};

class CatalogueParameters : public ::testing::TestWithParam<Published> {};

TEST_P(CatalogueParameters, AreThePublishedOnes) {
  const Published& row = GetParam();
  EXPECT_NEAR(load_model(row.name).parameters(), row.parameters, row.tolerance * row.parameters)
      << row.name;
}

// Exact counts are those of the released checkpoints; the tolerance of the others covers small
// tensors that the description leaves out (token types, biases of some projections),
// or rounded publications.
INSTANTIATE_TEST_SUITE_P(
    Released, CatalogueParameters,
    ::testing::Values(
        Published{"gpt2", 124439808, 0}, Published{"gpt2-medium", 354823168, 0},
        Published{"gpt2-large", 774030080, 0}, Published{"gpt2-xl", 1557611200, 0},
        Published{"llama2-7b", 6738415616, 0}, Published{"llama2-13b", 13015864320, 0},
        Published{"llama2-70b", 68976648192, 0}, Published{"llama3-8b", 8030261248, 0},
        Published{"llama3-70b", 70553706496, 0}, Published{"llama3-405b", 405853388800, 0},
        Published{"llama3.2-1b", 1235814400, 0}, Published{"llama3.2-3b", 3212749824, 0},
        Published{"mpt-7b", 6649286656, 0}, Published{"mixtral-8x7b", 46702792704, 0},
        Published{"qwen3-30b-a3b", 30532122624, 0}, Published{"qwen3-235b-a22b", 235093634560, 0},
        Published{"resnet50", 25557032, 0}, Published{"wide-resnet101-2", 126886696, 0},
        Published{"vgg16", 138357544, 0}, Published{"inception-v3", 27161264, 0},
        Published{"bloom-176b", 176247271424, 1e-6}, Published{"qwen2-7b", 7615616512, 1e-4},
        Published{"gpt-neo-2.7b", 2651307520, 2e-4}, Published{"vit-b-16", 86567656, 0},
        Published{"vit-l-16", 304326632, 0}, Published{"vit-h-14", 632045800, 0},
        Published{"bert-base", 109514298, 0}, Published{"bert-large", 335174458, 0},
        Published{"deepseek-v3", 671.03e9, 1e-4}, Published{"gpt-oss-120b", 116.83e9, 1e-3},
        Published{"gpt3-175b", 174.6e9, 2e-3}, Published{"megatron-1t", 1008.0e9, 1e-3},
        Published{"turing-530b", 529.6e9, 2e-3}, Published{"megatron-22b", 22e9, 2e-2},
        Published{"opt-175b", 175e9, 1e-2}, Published{"mpt-30b", 30e9, 1e-2},
        Published{"nemotron4-15b", 15.6e9, 1e-2}, Published{"nemotron4-340b", 341e9, 1e-2},
        Published{"grok-1", 314e9, 1e-2}, Published{"dlrm", 26.1e9, 1e-2}));

TEST(Load, OverridesApplyToNamesAndFiles) {
  const Overrides overrides = {{"model.layers", "4"}, {"seq", "512"}};
  const Model m = load_model("llama3-8b", overrides);
  EXPECT_EQ(m.num_layers(), 4 + 2);
  EXPECT_EQ(m.tokens_per_sample, 512);
  EXPECT_EQ(load_model("gpt2", {{"seq", "512"}}).parameters(), 124439808)
      << "the position table keeps its size";
  const Model h = load_model_text(R"({"model_type": "llama"})", "x/config.json", overrides);
  EXPECT_EQ(h.num_layers(), 4 + 2);
  EXPECT_EQ(h.name, "x");
}

TEST(Load, TheSameModelInEveryFormat) {
  const char* toml =
      "family = \"llama\"\nlayers = 2\nhidden = 64\nheads = 4\nffn = 128\nvocab = 100\nseq = 32\n";
  const char* nested =
      "[model]\nfamily = \"llama\"\nlayers = 2\nhidden = 64\nheads = 4\nffn = 128\nvocab = "
      "100\nseq = 32\n";
  const char* yaml =
      "family: llama\nlayers: 2\nhidden: 64\nheads: 4\nffn: 128\nvocab: 100\nseq: 32\n";
  const char* hf =
      R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
          "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 32, "_name_or_path": "m"})";
  const Model m = load_model_text(toml, "m.toml");
  EXPECT_EQ(m.name, "m");
  EXPECT_EQ(load_model_text(nested, "m.toml"), m);
  EXPECT_EQ(load_model_text(yaml, "m.yaml"), m);
  EXPECT_EQ(load_model_text(hf, "config.json"), m);
}

TEST(Load, AFileMayStartFromACatalogueEntry) {
  const Model m = load_model_text("base = \"llama3-8b\"\nlayers = 4\nname = \"small\"\n", "m.toml");
  EXPECT_EQ(m.num_layers(), 6);
  EXPECT_EQ(m.name, "small");
  EXPECT_EQ(m.transformer->ffn, 14336);
  const Errors e = errors_of([] { load_model_text("base = \"lama3-8b\"\n", "m.toml"); });
  EXPECT_EQ(e.list()[0].hint, "did you mean \"llama3-8b\"?");
  EXPECT_EQ(e.list()[0].where.line, 1);
}

TEST(Load, UnknownNamesGetTheNearest) {
  const Errors e = errors_of([] { load_model("lama3-8b"); });
  EXPECT_EQ(e.list()[0].code, "model.unknown");
  EXPECT_EQ(e.list()[0].hint, "did you mean \"llama3-8b\"?");
  EXPECT_EQ(errors_of([] { load_model("no/such.toml"); }).list()[0].code, "spec.no-file");
  EXPECT_EQ(errors_of([] { load_model(TemporaryFolder().path()); }).list()[0].code,
            "spec.is-directory");
  EXPECT_EQ(errors_of([] { load_model_text("", "m.txt"); }).list()[0].code, "model.format");
}

TEST(Load, AllFaultsOfAFileAtOnceWithTheirPlaces) {
  const char* text =
      "family = \"llama\"\nlayers = 0\nhidden = 100\nheads = 7\nkv_heads = 3\nffn = 128\nvocab = "
      "10\nseq = 8\nlayrs = 3\n";
  const Errors e = errors_of([&] { load_model_text(text, "m.toml"); });
  ASSERT_EQ(e.list().size(), 4U) << e.what();
  EXPECT_EQ(e.list()[0].code, "spec.unknown-key");
  EXPECT_EQ(e.list()[1].where.line, 2);
  EXPECT_THAT(e.list()[1].message, HasSubstr("layers = 0"));
  EXPECT_EQ(e.list()[2].where.line, 3);
  EXPECT_THAT(e.list()[2].message, HasSubstr("hidden = 100"));
  EXPECT_THAT(e.list()[3].message, HasSubstr("kv_heads = 3"));
}

TEST(Load, AMisspeltKeyIsNotAlsoCalledMissing) {
  const char* text =
      "family = \"llama\"\nlayers = 2\nhiden = 64\nheads = 4\nffn = 128\nvocab = 100\nseq = 32\n";
  const Errors e = errors_of([&] { load_model_text(text, "m.toml"); });
  ASSERT_EQ(e.list().size(), 1U) << e.what();
  EXPECT_EQ(e.list()[0].hint, "did you mean \"hidden\"?");
}

TEST(Load, FamiliesAndAbsurdSizesAreChecked) {
  EXPECT_EQ(errors_of([] {
              load_model("llama3-8b", {{"family", "\"lama\""}});
            })
                .list()[0]
                .hint,
            "did you mean \"llama\"?");
  EXPECT_THROW(load_model("llama3-8b", {{"layers", "100001"}}), Errors);
  EXPECT_THROW(load_model("llama3-8b", {{"hidden", "2000000"}}), Errors);
  EXPECT_THROW(load_model("vit-b-16", {{"image", "100000"}}), Errors);
  EXPECT_THROW(load_model("resnet50", {{"depth", "51"}}), Errors);
  EXPECT_THROW(load_model("resnet50", {{"layers", "4"}}), Errors);
  EXPECT_THROW(load_model("dlrm", {{"rows", "[1.5]"}}), Errors);
}

TEST(Load, OnnxTakesOnlyItsOwnOverrides) {
  const Errors e = errors_of([] { load_model_text("rubbish", "m.onnx", {{"layers", "4"}}); });
  EXPECT_EQ(e.list()[0].code, "spec.unknown-key");
}

}  // namespace
}  // namespace nereus::model::load_model_test
