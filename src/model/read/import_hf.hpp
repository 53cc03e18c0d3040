// A model from a Hugging Face config.json, told apart by its "model_type". Absent keys take the
// defaults of the transformers library for that type (configuration_*.py).
//
// The sequence is max_position_embeddings (or its name in that type), which for long-context models
// is far more than was trained on: give --seq. Not counted: attention windows that only some layers
// have (qwen2, qwen3, gpt_oss) and narrower word embeddings (opt-350m).
//
//   spec::Value shape = import_hf(spec::parse_file("config.json"));  // as in a Nereus model file
#pragma once

#include <string>
#include <vector>

#include "spec/value.hpp"

namespace nereus::model {

std::vector<std::string> hf_model_types();  // known ones, in alphabetical order
// Throws Errors: an unknown type (naming the known ones), values of the wrong kind.
spec::Value import_hf(const spec::Value& config);

}  // namespace nereus::model
