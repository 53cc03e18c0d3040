// Architectures that the columns of a table cannot describe: latent attention, windows, experts in
// only some layers, state-space layers, modules that predict further tokens.
//
// A row with experts is treated as a catalog model if both have the same hidden, heads, experts,
// top_k and expert_ffn; the number of layers and the sequence are the row's. If several catalog
// models have these sizes, the one with which the row's name begins is used, in its form for
// training (NAME-mtp) unless the row says "w/o MTP".
//
// A row without experts is treated as the catalog model of its name if that has the same layers,
// hidden and heads, and something that no column says by itself (windows, heads of another size
// than hidden / heads).
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
