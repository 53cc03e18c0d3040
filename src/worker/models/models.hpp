// One file a family: its layers, from the embedding to the loss, as model::Model lists them. Names
// of parameters are those of its public checkpoints.
#pragma once

#include "worker/ops/layer.hpp"

namespace nereus::worker {

using Layers = std::vector<std::unique_ptr<Layer>>;

Layers build_bert(const model::TransformerShape& shape);   // BertForMaskedLM, Hugging Face names
Layers build_gpt(const model::TransformerShape& shape);    // GPT-2, Hugging Face names
Layers build_llama(const model::TransformerShape& shape);  // LLaMA, Hugging Face names
// ResNet, VGG, Inception-v3, torchvision's names; inputs and shapes are filled in.
Layers build_cnn_layers(const model::CnnShape& shape);
// A user's own modules; throws Errors where the folder is not what was planned.
Layers build_script_layers(const model::ScriptFolder& folder);

}  // namespace nereus::worker
