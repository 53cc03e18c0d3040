// Models as JSON, for plan files and for users' own files.
//
// A model built from a shape is written as its shape (model/shape_io.hpp) and rebuilt; any other
// (from ONNX, or a shape whose layers were changed) as its layers:
//
//   {"name": .., "family": .., "tokens_per_sample": ..,
//    "kinds": [{"name": .., "operators": [..]}, ..],
//    "layers": [0, 1, 1], "edges": [[from, to, elements], ..],
//    "tied": [[first, second, parameters], ..]}
//
// What is read back is equal (==). Read models are checked: indices exist, edges run forward,
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
// Adds every fault to `errors`; what is returned then is of no use.
Model model_from_value(const spec::Value& value, ErrorList& errors);

// The form by layers, in layers_io.cpp.
spec::Value layers_to_value(const Model& model);
Model layers_from_value(const spec::Value& value, ErrorList& errors);

}  // namespace nereus::model
