// Each model family has a source file with its layers, from the embedding to the loss, in the order
// of model::Model. Parameters have the names of the family's public checkpoints.
#pragma once

#include "worker/ops/layer.hpp"

namespace nereus::worker {

using Layers = std::vector<std::unique_ptr<Layer>>;

Layers build_bert(const model::TransformerShape& shape);   // BertForMaskedLM, Hugging Face names
Layers build_gpt(const model::TransformerShape& shape);    // GPT-2, Hugging Face names
Layers build_llama(const model::TransformerShape& shape);  // LLaMA, Hugging Face names
// ResNet, VGG, Inception-v3, with torchvision's names; fills in inputs and shapes.
Layers build_cnn_layers(const model::CnnShape& shape);
// A user's exported modules; throws Errors if the folder is not the one that was planned.
Layers build_script_layers(const model::ScriptFolder& folder);

}  // namespace nereus::worker
