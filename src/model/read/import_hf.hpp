// A model from a Hugging Face config.json; "model_type" decides its kind. Absent keys have the
// defaults of the transformers library for that type (configuration_*.py).
//
// The sequence is max_position_embeddings (or its name in that type), which for long-context models
// is much longer than in training: use --seq. Not modeled: attention windows in only some layers
// (qwen2, qwen3, gpt_oss), and narrower word embeddings (opt-350m).
//
//   spec::Value shape = import_hf(spec::parse_file("config.json"));  // as in a Nereus model file
#pragma once

#include <string>
#include <vector>

#include "spec/value.hpp"

namespace nereus::model {

std::vector<std::string> hf_model_types();  // in alphabetical order
// Throws Errors: an unknown type (lists the known ones), values of the wrong kind.
spec::Value import_hf(const spec::Value& config);

}  // namespace nereus::model
