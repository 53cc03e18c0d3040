// Requests of users before anything is looked up: names, files and numbers as plain structs. The
// command line and the API fill them; the functions of app/ resolve them. Empty fields are derived,
// and the answer lists them.
//
//   ModelRequest model{.model = "llama3-70b", .overrides = {{"layers", "4"}}};
#pragma once

#include <string>
#include <vector>

#include "plan/degrees.hpp"

namespace nereus::app {

// One `--set model.layers=4`: a dotted path inside the input, and the text of its new value.
struct Override {
  std::string path;
  std::string value;
  bool operator==(const Override&) const = default;
};

struct ModelRequest {
  std::string model;  // catalog name, or a file: Nereus TOML/YAML, Hugging Face config.json, ONNX
  std::vector<Override> overrides;
};

struct ClusterRequest {
  std::string cluster;  // "16xdgx-h100", or a file
  std::vector<Override> overrides;
};

using plan::DegreesRequest;

// How the machines and the software behave: a stack by name or file, and measured profiles.
struct CalibrationRequest {
  std::string stack;
  std::vector<std::string> profiles;
  bool force_profile = false;  // also use profiles of another device or library
};

}  // namespace nereus::app
