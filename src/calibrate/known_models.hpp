// Architectures that the columns of a table cannot describe: latent attention, windows, experts in
// some of the layers, state-space layers, modules that predict further tokens.
//
// A row with experts whose hidden, heads, experts, top_k and expert_ffn are those of a catalogue
// model is that model, with the row's own number of layers and sequence. Where several catalogue
// models have these sizes, the one whose name the row's begins with is taken, and of that the one
// as it is trained (NAME-mtp), unless the row says "w/o MTP".
//
//   if (auto shape = known_shape(from_columns, "DeepSeekV3 (w/o MTP)")) ...
#pragma once

#include <optional>
#include <string_view>

#include "model/transformer.hpp"

namespace nereus::calibrate {

std::optional<model::TransformerShape> known_shape(const model::TransformerShape& columns,
                                                   std::string_view row_model);

}  // namespace nereus::calibrate
