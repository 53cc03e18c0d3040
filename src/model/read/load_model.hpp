// Models by name or file: the catalog (data/catalog/models), Nereus TOML/YAML/JSON, ONNX, Hugging
// Face config.json, folders of python/nereus_export.py.
//
// Overrides (--set model.layers=4, --seq) are applied to the tree before it is read, for any
// source. A Hugging Face config is first converted to a Nereus table, so the keys are always ours.
// A file may start from a catalog entry with `base = "llama3-8b"`. ONNX graphs only support `seq`,
// `name` and `dims.NAME`.
//
//   Model m = load_model("llama3-8b", {{"model.layers", "4"}, {"seq", "2048"}});
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/model.hpp"

namespace nereus::model {

using Overrides = std::vector<std::pair<std::string, std::string>>;  // path (with or without
                                                                     // "model."), TOML value

struct CatalogueModel {
  std::string name;
  std::string family;
  std::string source;
};

const std::vector<CatalogueModel>& catalogue_models();  // in the order of the files
std::vector<std::string> catalogue_model_names();
// The catalog's name for a name as people write it, null if it has none: letters and digits count,
// in either case ("ResNet-50"), or the alias that data/catalog/models/aliases.csv has for it.
const std::string* catalogue_name(std::string_view written);

// Throws Errors: no such name (with the nearest), no such file, and all errors in its content.
Model load_model(std::string_view name_or_path, const Overrides& overrides = {});
// Like load_model(), for text that was read already. The extension of `file` decides the format,
// and errors name it.
Model load_model_text(std::string_view text, const std::string& file,
                      const Overrides& overrides = {});

}  // namespace nereus::model
