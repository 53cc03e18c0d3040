// Reads and writes shapes as tables of a Nereus model file. The catalog, users' files, and the
// model in a plan file have the same format:
//
//   name = "llama3-8b"
//   family = "llama"      # sets the defaults: norm, position, biases, gated MLP, tied embeddings
//   layers = 32
//   hidden = 4096
//   ...
//
// Only fields that differ from the family's defaults are written. A shape reads back equal.
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

// All families that a file may name, in alphabetical order.
std::vector<std::string> family_names();
// The defaults of a transformer family; empty for other families.
std::optional<TransformerShape> family_defaults(std::string_view family);

// Reads, checks and resolves. Adds every error with its place; returns monostate if there was one.
AnyShape read_shape(const spec::Value& table, ErrorList& errors);
// Reads the output of write_shape() without the checks of resolve(): for a shape that is stored
// together with layers.
AnyShape read_shape_unchecked(const spec::Value& table, ErrorList& errors);
spec::Value write_shape(const AnyShape& shape);

}  // namespace nereus::model
