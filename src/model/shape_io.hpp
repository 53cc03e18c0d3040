// Shapes as tables of a Nereus model file, and back. One format serves the catalogue, users' files,
// and the model inside a plan file:
//
//   name = "llama3-8b"
//   family = "llama"      # sets the defaults: norm, position, biases, gated MLP, tied embeddings
//   layers = 32
//   hidden = 4096
//   ...
//
// Written are only the fields that differ from the family's defaults; what is read back is equal.
//
//   ErrorList errors;
//   AnyShape shape = read_shape(table, errors);
//   errors.throw_if_any();
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "model/cnn.hpp"
#include "model/dlrm.hpp"
#include "model/transformer.hpp"
#include "spec/value.hpp"

namespace nereus::model {

using AnyShape = std::variant<std::monostate, TransformerShape, CnnShape, DlrmShape>;

// All that a file may name, in alphabetical order.
std::vector<std::string> family_names();
// A transformer family's defaults; nothing where it is no transformer family.
std::optional<TransformerShape> family_defaults(std::string_view family);

// Reads, checks and resolves. Every fault is added with its place; monostate where there was one.
AnyShape read_shape(const spec::Value& table, ErrorList& errors);
// Reads what write_shape() wrote, without the checks of resolve(): for a shape that stands beside
// layers.
AnyShape read_shape_unchecked(const spec::Value& table, ErrorList& errors);
spec::Value write_shape(const AnyShape& shape);

}  // namespace nereus::model
