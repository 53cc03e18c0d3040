// The keys for shapes in Hugging Face's config.json: those of GPT-2, and those of almost all other
// types.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "model/transformer.hpp"

namespace nereus::exporting {

void add_gpt2_keys(nlohmann::ordered_json& json, const model::TransformerShape& shape);
void add_common_keys(nlohmann::ordered_json& json, const model::TransformerShape& shape);

}  // namespace nereus::exporting
