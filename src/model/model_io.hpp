// Models as JSON, for plan files and for users' own files.
//
// A model built from a shape is written as its shape (model/shape_io.hpp) and rebuilt. Any other
// model (from ONNX, or a shape whose layers were changed) is written as its layers:
//
//   {"name": .., "family": .., "tokens_per_sample": ..,
//    "kinds": [{"name": .., "operators": [..]}, ..],
//    "layers": [0, 1, 1], "edges": [[from, to, elements], ..],
//    "tied": [[first, second, parameters], ..]}
//
// A model reads back equal (==). When it is read, it is checked: indices exist, edges run forward,
// counts are finite and not negative.
//
//   std::string text = model_to_json(model);
//   ErrorList errors;
//   Model again = model_from_value(spec::parse_json(text, "plan.json"), errors);
#pragma once

#include <string>

#include "base/error.hpp"
#include "model/model.hpp"
#include "spec/value.hpp"

namespace nereus::model {

spec::Value model_to_value(const Model& model);
std::string model_to_json(const Model& model);
// Adds all errors to `errors`; the result is then invalid.
Model model_from_value(const spec::Value& value, ErrorList& errors);

// The form with layers, in layers_io.cpp.
spec::Value layers_to_value(const Model& model);
Model layers_from_value(const spec::Value& value, ErrorList& errors);

}  // namespace nereus::model
