// An ONNX file as plain structs, so that only one .cpp needs protobuf, and the rest builds without
// it.
//
// Reads ModelProto.graph (IR 3 and later) and its opset. Of weights it only reads what shape
// inference needs: dims, and the values of small tensors. Weights in external files are never
// opened.
//
//   File file = parse(bytes, "resnet.onnx");  // throws Errors if the bytes are not an ONNX model
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nereus::model::onnx {

using Dims = std::vector<std::int64_t>;

// Values of at most this size are kept: enough for any shape, and small enough for constant
// folding.
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
  std::vector<std::string> inputs;  // "" for an omitted optional input
  std::vector<std::string> outputs;
  std::map<std::string, Attribute, std::less<>> attributes;

  std::int64_t integer(std::string_view key, std::int64_t otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;
  Dims integers(std::string_view key) const;  // empty if absent
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
  std::vector<Input> inputs;  // without weights
  std::vector<std::string> outputs;
};

File parse(std::string_view bytes, const std::string& path);

}  // namespace nereus::model::onnx
