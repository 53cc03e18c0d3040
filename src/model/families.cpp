// The defaults of each family: the fields that its members share.
#include <algorithm>

#include "model/shape_io.hpp"

namespace nereus::model {

namespace {

struct NamedShape {
  std::string_view name;
  TransformerShape shape;
};

// The names are those of public checkpoints; most share LLaMA's block.
std::vector<NamedShape> make_named_shapes() {
  TransformerShape gpt;
  gpt.tied_embeddings = true;
  TransformerShape llama;
  llama.gated_mlp = true;
  llama.bias = false;
  llama.norm = NormKind::kRmsNorm;
  llama.position = PositionKind::kRotary;

  TransformerShape bloom = gpt;
  bloom.position = PositionKind::kAlibi;
  TransformerShape neox = gpt;
  neox.position = PositionKind::kRotary;
  neox.tied_embeddings = false;
  TransformerShape mpt = gpt;
  mpt.bias = false;
  mpt.position = PositionKind::kAlibi;
  TransformerShape nemotron = neox;
  nemotron.bias = false;
  TransformerShape bert = gpt;
  bert.causal = false;
  TransformerShape vit = bert;
  vit.tied_embeddings = false;
  TransformerShape dit = vit;
  dit.position = PositionKind::kNone;
  dit.modulated = true;
  dit.channels = 4;
  TransformerShape t5 = llama;
  t5.gated_mlp = false;
  t5.tied_embeddings = true;
  t5.position = PositionKind::kRelative;
  TransformerShape mamba = llama;
  mamba.gated_mlp = false;
  mamba.tied_embeddings = true;
  mamba.position = PositionKind::kNone;
  TransformerShape qwen3 = llama;
  qwen3.qk_norm = true;
  TransformerShape gemma3 = llama;
  gemma3.tied_embeddings = gemma3.qk_norm = gemma3.post_norm = true;
  TransformerShape gpt_oss = llama;
  gpt_oss.bias = true;
  TransformerShape grok = llama;
  grok.tied_embeddings = true;

  TransformerShape hybrid = llama;  // Nemotron-H: squared ReLU, no positions
  hybrid.gated_mlp = false;
  hybrid.position = PositionKind::kNone;

  std::vector<NamedShape> named_shapes = {
      {"bert", bert},         {"bloom", bloom},   {"deepseek", llama}, {"dit", dit},
      {"gemma3", gemma3},     {"gpt", gpt},       {"gpt_neox", neox},  {"gpt_oss", gpt_oss},
      {"grok", grok},         {"llama", llama},   {"llama4", llama},   {"mamba", mamba},
      {"mistral", llama},     {"mixtral", llama}, {"mpt", mpt},        {"nemotron", nemotron},
      {"nemotron_h", hybrid}, {"opt", gpt},       {"phi3", llama},     {"qwen2", llama},
      {"qwen3", qwen3},       {"t5", t5},         {"vit", vit}};
  for (NamedShape& family : named_shapes) family.shape.family = family.name;
  return named_shapes;
}

const std::vector<NamedShape>& named_shapes() {
  static const std::vector<NamedShape> kList = make_named_shapes();
  return kList;
}

}  // namespace

std::vector<std::string> family_names() {
  std::vector<std::string> names = {"alexnet", "dlrm",       "inception",  "mobilenet",
                                    "resnet",  "shufflenet", "squeezenet", "vgg"};
  for (const NamedShape& family : named_shapes()) names.emplace_back(family.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<TransformerShape> family_defaults(std::string_view family) {
  for (const NamedShape& known : named_shapes())
    if (known.name == family) return known.shape;
  return std::nullopt;
}

}  // namespace nereus::model
