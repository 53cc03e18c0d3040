// The config.json of a trained model, beside its weights: what `transformers` needs to load the
// folder, with the numbers that no shape has (epsilons, activation), as the worker's models have
// them (GPT-2, LLaMA and BERT as published).
//
// Which type: by the blocks, not by the family's name, as the worker builds them. A mistral or a
// qwen2 without experts, windows and biases is trained as LLaMA and written as one. Convolutional
// networks are torchvision's: transformers has other names for them, so the folder says which
// torchvision function makes the model and its tensors are the state dict. So it is for a user's
// own models: LAYER.PARAMETER is what an nn.ModuleDict of its layers calls them.
//
//   HfModel hf = hf_model(model, "float32");     // throws Errors: export.cannot-express
//   hf.config;                                   // text of config.json
//   hf.left_out;                                 // tied: not stored beside their first
//
// What is written for a transformer is read by model/read/import_hf.hpp and compared before it is
// handed out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"

namespace nereus::exporting {

struct HfModel {
  std::string config;
  std::vector<std::string> left_out;
};

HfModel hf_model(const model::Model& model, std::string_view torch_dtype);

}  // namespace nereus::exporting
