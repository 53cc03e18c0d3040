// Exact parameter counts, as published, of families besides decoders and CNNs; and what sets each
// of them apart.
#include <gtest/gtest.h>

#include "model/read/load_model.hpp"

namespace nereus::model::families_test {
namespace {

double parameters(const char* name) { return load_model(name).parameters(); }

const Operator& op_of(const LayerKind& kind, std::string_view name) {
  for (const Operator& op : kind.operators)
    if (op.name == name) return op;
  ADD_FAILURE() << kind.name << " has no " << name;
  return kind.operators.front();
}

const LayerKind& kind_of(const Model& model, std::string_view name) {
  for (const LayerKind& kind : model.kinds)
    if (kind.name == name) return kind;
  ADD_FAILURE() << model.name << " has no " << name;
  return model.kinds.front();
}

// --- encoder and decoder -------------------------------------------------------------------------

TEST(EncoderDecoder, HasTheParametersOfTheReleasedT5) {
  EXPECT_EQ(parameters("t5-small"), 60'506'624);
  EXPECT_EQ(parameters("t5-base"), 222'903'552);
  EXPECT_EQ(parameters("t5-large"), 737'668'096);
  EXPECT_EQ(parameters("t5-3b"), 2'851'598'336);
  EXPECT_EQ(parameters("t5-11b"), 11'307'321'344);
  EXPECT_EQ(parameters("t5-v1.1-base"), 247'577'856);
  EXPECT_EQ(parameters("t5-v1.1-xxl"), 11'135'332'352);
}

TEST(EncoderDecoder, RunsTheEncoderOnTheSourceAndTheDecoderOnTheTarget) {
  const Model t5 = load_model("t5-base");
  EXPECT_EQ(t5.num_layers(), 1 + 12 + 12 + 1);
  EXPECT_EQ(t5.tokens_per_sample, 512 + 114);
  EXPECT_EQ(op_of(kind_of(t5, "encoder_block"), "qkv").rows, 512);
  const LayerKind& decoder = kind_of(t5, "decoder_block");
  EXPECT_EQ(op_of(decoder, "qkv").rows, 114);
  EXPECT_EQ(op_of(decoder, "cross_q").rows, 114);
  EXPECT_EQ(op_of(decoder, "cross_kv").rows, 512);
  EXPECT_EQ(op_of(decoder, "cross_attention").keys, 512);
  EXPECT_FALSE(op_of(kind_of(t5, "encoder_block"), "attention").causal);
  EXPECT_TRUE(op_of(decoder, "attention").causal);
  EXPECT_FALSE(op_of(decoder, "cross_attention").causal);
  EXPECT_EQ(op_of(t5.kinds.back(), "logits").rows, 114);
}

TEST(EncoderDecoder, HandsOnWhatTheNextLayerReads) {
  const Model t5 = load_model("t5-small");
  for (int i = 0; i + 2 < t5.num_layers(); ++i)
    EXPECT_EQ(t5.layer(i).output_elements, t5.layer(i + 1).input_elements) << i;
  // Decoder stages pass on the encoder's output with the target.
  EXPECT_EQ(kind_of(t5, "decoder_block").output_elements, (512 + 114) * 512);
}

// --- images --------------------------------------------------------------------------------------

TEST(VisionTransformer, HasTheParametersOfTorchvisions) {
  EXPECT_EQ(parameters("vit-b-16"), 86'567'656);
  EXPECT_EQ(parameters("vit-l-16"), 304'326'632);
  EXPECT_EQ(parameters("vit-h-14"), 632'045'800);
}

TEST(DiffusionTransformer, HasTheParametersOfTheReleasedDit) {
  EXPECT_EQ(parameters("dit-xl-2"), 675'129'632);
  EXPECT_NEAR(parameters("dit-s-2"), 33e6, 0.5e6);
  EXPECT_NEAR(parameters("dit-b-2"), 130e6, 0.6e6);
  EXPECT_NEAR(parameters("dit-l-2"), 458e6, 0.5e6);
}

TEST(DiffusionTransformer, HasAPatchPerTokenAndNoClassToken) {
  const Model dit = load_model("dit-xl-2");
  EXPECT_EQ(dit.transformer->seq, 256);
  EXPECT_EQ(dit.tokens_per_sample, 0) << "rates are pictures";
  const LayerKind& block = kind_of(dit, "block");
  EXPECT_EQ(op_of(block, "modulation").parameters, 6 * 1152.0 * 1153);
  EXPECT_EQ(op_of(block, "modulation").rows, 1) << "one vector for a picture";
  EXPECT_EQ(op_of(block, "attention_norm").parameters, 0);
  EXPECT_FALSE(op_of(block, "attention").causal);
  // Table 1 of the paper: 118.6 GFLOPs, counted as multiply-adds.
  double forward = 0;
  for (int i = 0; i < dit.num_layers(); ++i) forward += dit.layer(i).forward_flops();
  EXPECT_NEAR(forward / 2 / 118.6e9, 1, 0.02);
}

// --- state spaces --------------------------------------------------------------------------------

TEST(StateSpaces, HaveTheParametersOfTheReleasedMambas) {
  EXPECT_EQ(parameters("mamba-130m"), 129'135'360);
  EXPECT_EQ(parameters("mamba-370m"), 371'516'416);
  EXPECT_EQ(parameters("mamba-790m"), 793'204'224);
  EXPECT_EQ(parameters("mamba-1.4b"), 1'372'178'432);
  EXPECT_EQ(parameters("mamba-2.8b"), 2'768'345'600);
  EXPECT_EQ(parameters("mamba2-130m"), 128'989'632);
  EXPECT_EQ(parameters("mamba2-2.7b"), 2'702'599'680);
}

TEST(StateSpaces, NeedNoHeadsOfAttention) {
  const Model mamba = load_model("mamba-2.8b");
  EXPECT_EQ(mamba.transformer->heads, 0);
  EXPECT_EQ(op_of(kind_of(mamba, "mamba_layer"), "ssm_scan").kind, OpKind::kElementwise)
      << "a state per channel: no dense pieces";
  EXPECT_EQ(op_of(kind_of(load_model("mamba2-2.7b"), "mamba_layer"), "ssm_scan").kind,
            OpKind::kScan);
}

// --- windows -------------------------------------------------------------------------------------

TEST(Gemma3, HasTheParametersOfTheReleasedOne) { EXPECT_EQ(parameters("gemma3-1b"), 999'885'952); }

TEST(Gemma3, SeesEverythingInEverySixthBlock) {
  const Model model = load_model("gemma3-12b");
  int whole = 0;
  for (int i = 0; i < model.num_layers(); ++i) whole += model.layer(i).name == "block" ? 1 : 0;
  EXPECT_EQ(whole, 8);
  EXPECT_EQ(model.layer(5).name, "window_block");
  EXPECT_EQ(model.layer(6).name, "block");
  EXPECT_EQ(op_of(kind_of(model, "window_block"), "attention").keys, 1024);
}

// --- names ---------------------------------------------------------------------------------------

TEST(ModelNames, AreFoundAsPeopleWriteThem) {
  const auto found = [](const char* written) {
    const std::string* name = catalogue_name(written);
    return name == nullptr ? "none" : *name;
  };
  EXPECT_EQ(found("resnet50"), "resnet50");
  EXPECT_EQ(found("ResNet-50"), "resnet50");
  EXPECT_EQ(found("ResNet-50 v1.5"), "resnet50");
  EXPECT_EQ(found("BERT-Large"), "bert-large");
  EXPECT_EQ(found("ViT-B/16"), "vit-b-16");
  EXPECT_EQ(found("vit_base_patch16_224"), "vit-b-16");
  EXPECT_EQ(found("DLRM_DCNv2"), "dlrm-dcnv2");
  EXPECT_EQ(found("Qwen3_235B_A22B"), "qwen3-235b-a22b");
  EXPECT_EQ(found("resnet51"), "none");
  EXPECT_EQ(found(""), "none");
  EXPECT_EQ(load_model("LLAMA3-8B").name, "llama3-8b");
}

TEST(ModelNames, AreEachTheirOwn) {
  for (const CatalogueModel& model : catalogue_models()) {
    const std::string* name = catalogue_name(model.name);
    ASSERT_NE(name, nullptr) << model.name;
    EXPECT_EQ(*name, model.name);
  }
}

}  // namespace
}  // namespace nereus::model::families_test
