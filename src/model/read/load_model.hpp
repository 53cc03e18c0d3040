// Models by name or file: the catalogue (data/catalog/models), Nereus TOML/YAML/JSON, ONNX, Hugging
// Face config.json, folders of python/nereus_export.py.
//
// Overrides (--set model.layers=4, --seq) are applied to the tree before it is read, whatever the
// source; a Hugging Face config is first turned into a Nereus table, so the keys are ours
// everywhere. A file may start from a catalogue entry with `base = "llama3-8b"`. ONNX graphs only
// take `seq`, `name` and `dims.NAME`.
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

// Throws Errors: no such name (with the nearest), no such file, and all that is wrong with its
// content.
Model load_model(std::string_view name_or_path, const Overrides& overrides = {});
// The same from text that was read already. `file` decides the format by its ending and is named in
// errors.
Model load_model_text(std::string_view text, const std::string& file,
                      const Overrides& overrides = {});

}  // namespace nereus::model
