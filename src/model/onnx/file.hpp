// An ONNX file as plain structs, so that protobuf stays in one .cpp and the rest builds without it.
//
// Read are ModelProto.graph (IR 3 and later), its opset, and of weights only what shapes need:
// dims, and the values of small tensors. Weights kept in files beside the model are never opened.
//
//   File file = parse(bytes, "resnet.onnx");  // throws Errors for bytes that are no ONNX model
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::model::onnx {

using Dims = std::vector<std::int64_t>;

// Values are kept up to this many: enough for any shape, small enough to fold freely.
inline constexpr std::int64_t kMostValues = 1024;

struct Constant {
  std::string name;
  Dims dims;
  bool floating = false;
  bool has_values = false;
  std::vector<double> values;
};

struct Attribute {
  std::int64_t i = 0;
  double f = 0;
  std::string s;
  std::vector<std::int64_t> ints;
  std::vector<double> floats;
  Constant tensor;
  bool is_graph = false;  // control flow
};

struct Node {
  std::string name;
  std::string op;
  std::string domain;
  std::vector<std::string> inputs;  // "" where an optional one is left out
  std::vector<std::string> outputs;
  std::map<std::string, Attribute, std::less<>> attributes;

  std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;
  Dims integers(std::string_view key) const;  // empty where absent
  bool has(std::string_view key) const { return attributes.find(key) != attributes.end(); }
};

struct InputDim {
  std::int64_t value = 0;  // 0: free
  std::string symbol;
};

struct Input {
  std::string name;
  bool integer = false;
  bool has_shape = false;
  std::vector<InputDim> dims;
};

struct File {
  std::string path;
  std::string name;  // of the graph
  std::int64_t opset = 0;
  std::vector<Node> nodes;
  std::vector<Constant> weights;
  std::vector<Input> inputs;  // weights apart
  std::vector<std::string> outputs;
};

File parse(std::string_view bytes, const std::string& path);

}  // namespace nereus::model::onnx
