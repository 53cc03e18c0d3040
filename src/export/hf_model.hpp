// The config.json of a trained model, stored with its weights: what `transformers` needs to load
// the folder, including numbers that a shape does not have (epsilons, activation). Their values are
// those of the worker's models (GPT-2, LLaMA and BERT as published).
//
// The type follows from the blocks as the worker builds them, not from the family's name. A mistral
// or a qwen2 without experts, windows and biases is trained as LLaMA, and written as LLaMA.
// Convolutional networks are those of torchvision, and transformers has other names for them. So
// their folder has the name of the torchvision function that makes the model, and its tensors are
// the state dict. The same holds for users' exported models: names are LAYER.PARAMETER, as in an
// nn.ModuleDict of the layers.
//
//   HfModel hf = hf_model(model, "float32");     // throws Errors: export.cannot-express
//   hf.config;                                   // text of config.json
//   hf.left_out;                                 // tied weights: stored only once
//
// The result for a transformer is read back with model/read/import_hf.hpp and compared before it is
// returned.
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
