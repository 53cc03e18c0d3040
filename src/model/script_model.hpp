// Users' exported models: a folder that python/nereus_export.py wrote, with one TorchScript module
// per layer (NAME.pt), the loss (loss.pt), and model.json, which lists what each layer reads,
// stores and costs. Planning only needs model.json; the worker loads the modules.
//
//   {"nereus_export": 1, "name": .., "id": SHA-256 of all that follows and of the modules,
//    "input": {"shape": [8], "integer": false, "vocabulary": 0}, "target": {"shape": [], ..},
//    "layers": [{"name": "stem", "inputs": [],
//                "parameters": [{"name": "weight", "shape": [32, 8]}], "output": [32],
//                "products": [{"rows": 1, "n": 32, "k": 8}], "read_elements": ..}, ..]}
//
// Shapes and counts are per sample. Layers are in the order of execution; a layer without inputs
// reads the sample, and is the first. The output of the last one goes to the loss.
//
// A plan includes the counts, and the path of the folder (ScriptFolder) with its id: a folder that
// was written again is another model.
//
//   ScriptModel script = load_script("mine");          // or mine/model.json; throws Errors
//   Model model = build_script(script);                // family "script"
//   ScriptModel again = open_script(*model.script);    // for a plan: the same id, or an error
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/script_folder.hpp"
#include "spec/value.hpp"

namespace nereus::model {

struct Model;

// The input or the targets of one sample.
struct ScriptValue {
  std::vector<std::int64_t> shape;
  bool integer = false;
  std::int64_t vocabulary = 0;  // integer inputs: all numbers are below this; 0 = unknown
};

struct ScriptParameter {
  std::string name;  // in its layer
  std::vector<std::int64_t> shape;
};

struct ScriptProduct {
  double rows = 0;
  double n = 0;
  double k = 0;
};

struct ScriptLayer {
  std::string name;
  std::vector<int> inputs;  // layers; empty: the sample
  std::vector<ScriptParameter> parameters;
  std::vector<std::int64_t> output;
  std::vector<ScriptProduct> products;
  // All other operators together.
  double read_elements = 0;
  double written_elements = 0;
  int kernels = 0;
  double saved_elements = 0;  // of all operators
  double saved_bytes = 0;
};

struct ScriptModel {
  ScriptFolder folder;
  std::string name;
  ScriptValue input;
  ScriptValue target;
  std::vector<ScriptLayer> layers;

  // Whether a token file can be used: the input is token numbers, with one target for each.
  bool reads_tokens() const;
};

ScriptModel script_from_value(const spec::Value& root, const std::string& folder);
ScriptModel load_script(const std::string& folder);
ScriptModel open_script(const ScriptFolder& folder);
bool is_script_folder(const std::string& path);

Model build_script(const ScriptModel& script);

}  // namespace nereus::model
