#include <fmt/format.h>

#include "base/error.hpp"
#include "worker/models/models.hpp"

namespace nereus::worker {

namespace {

Layers build_family(const model::Model& model) {
  if (model.cnn) return build_cnn_layers(*model.cnn);
  if (model.script) return build_script_layers(*model.script);
  if (!model.transformer)
    throw_input_error("train.model",
                      fmt::format("{} (family {}): the worker runs transformers and convolutional "
                                  "networks alone so far",
                                  model.name, model.family),
                      {}, "families: gpt, llama, bert, and all convolutional ones");
  const model::TransformerShape& shape = *model.transformer;
  const bool plain = shape.experts == 0 && shape.pattern.empty() && shape.q_lora == 0 &&
                     shape.kv_lora == 0 && shape.window == 0 && shape.compress_near == 0 &&
                     shape.streams == 1 && shape.mtp_layers == 0 && shape.patch == 0 &&
                     !shape.qk_norm && !shape.post_norm && shape.decoder_layers == 0;
  if (plain && shape.family != "bert" && shape.causal &&
      shape.position == model::PositionKind::kLearned && shape.bias && !shape.gated_mlp &&
      shape.norm == model::NormKind::kLayerNorm)
    return build_gpt(shape);
  if (plain && shape.causal && shape.position == model::PositionKind::kRotary && !shape.bias &&
      shape.gated_mlp && shape.norm == model::NormKind::kRmsNorm)
    return build_llama(shape);
  if (plain && shape.family == "bert" && !shape.causal && shape.kv_heads == shape.heads &&
      shape.position == model::PositionKind::kLearned && shape.bias && !shape.gated_mlp &&
      shape.norm == model::NormKind::kLayerNorm)
    return build_bert(shape);
  throw_input_error(
      "train.model",
      fmt::format("{} (family {}): the worker has no such block", model.name, shape.family), {},
      "families: gpt, llama, bert, and all convolutional ones");
}

}  // namespace

Layers build_layers(const model::Model& model) {
  Layers layers = build_family(model);
  NEREUS_CHECK(static_cast<int>(layers.size()) == model.num_layers(),
               "the worker's layers are the model's");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Layer& layer = *layers[i];
    layer.index = static_cast<int>(i);
    if (model.transformer) {
      layer.inputs = {static_cast<int>(i) - 1};
      layer.output_shape = {model.transformer->seq, model.transformer->hidden};
    }
  }
  return layers;
}

}  // namespace nereus::worker
