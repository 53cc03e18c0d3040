// Models of the user's own: a folder that python/nereus_export.py wrote, with one TorchScript
// module a layer (NAME.pt), the loss (loss.pt), and model.json, which says what each layer reads,
// holds and costs. Planning needs model.json alone; the worker loads the modules.
//
//   {"nereus_export": 1, "name": .., "id": SHA-256 of all that follows and of the modules,
//    "input": {"shape": [8], "integer": false, "vocabulary": 0}, "target": {"shape": [], ..},
//    "layers": [{"name": "stem", "inputs": [],
//                "parameters": [{"name": "weight", "shape": [32, 8]}], "output": [32],
//                "products": [{"rows": 1, "n": 32, "k": 8}], "read_elements": ..}, ..]}
//
// Shapes and counts are of one sample. Layers are in the order they run; a layer without inputs
// reads the sample, and is the first. The last one's output goes to the loss.
//
// A plan carries the counts, and where the folder was (ScriptFolder) with its id: a folder that was
// written anew since is another model.
//
//   ScriptModel script = load_script("mine");          // or mine/model.json; throws Errors
//   Model model = build_script(script);                // family "script"
//   ScriptModel again = open_script(*model.script);    // of a plan: the same id, or an error
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
  std::int64_t vocabulary = 0;  // integer inputs: numbers below this; 0 = unknown
};

struct ScriptParameter {
  std::string name;  // within its layer
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
  // Of all other operators together.
  double read_elements = 0;
  double written_elements = 0;
  int kernels = 0;
  double saved_elements = 0;  // of all
  double saved_bytes = 0;
};

struct ScriptModel {
  ScriptFolder folder;
  std::string name;
  ScriptValue input;
  ScriptValue target;
  std::vector<ScriptLayer> layers;

  // Whether a token file serves: token numbers in, and one target for each.
  bool reads_tokens() const;
};

ScriptModel script_from_value(const spec::Value& root, const std::string& folder);
ScriptModel load_script(const std::string& folder);
ScriptModel open_script(const ScriptFolder& folder);
bool is_script_folder(const std::string& path);

Model build_script(const ScriptModel& script);

}  // namespace nereus::model
