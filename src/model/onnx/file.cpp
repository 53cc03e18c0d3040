#include "model/onnx/file.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "model/onnx/proto.hpp"

namespace nereus::model::onnx {

std::int64_t Node::integer(std::string_view key, std::int64_t otherwise) const {
  const auto it = attributes.find(key);
  return it == attributes.end() ? otherwise : it->second.i;
}

std::string Node::text(std::string_view key, std::string_view otherwise) const {
  const auto it = attributes.find(key);
  return it == attributes.end() ? std::string(otherwise) : it->second.s;
}

Dims Node::integers(std::string_view key) const {
  const auto it = attributes.find(key);
  return it == attributes.end() ? Dims{} : it->second.ints;
}

#ifdef NEREUS_HAS_ONNX

namespace {

namespace pb = ::onnx;

bool is_floating(int type) {
  return type == pb::TensorProto::FLOAT || type == pb::TensorProto::FLOAT16 ||
         type == pb::TensorProto::BFLOAT16 || type == pb::TensorProto::DOUBLE;
}

// Raw bytes are little-endian, as every machine this runs on.
template <class T>
void append_raw(const std::string& raw, std::vector<double>& values) {
  for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, raw.data() + at, sizeof(T));
    values.push_back(static_cast<double>(value));
  }
}

void read_values(const pb::TensorProto& tensor, std::vector<double>& values) {
  const std::string& raw = tensor.raw_data();
  switch (tensor.data_type()) {
    case pb::TensorProto::INT64:
      for (auto v : tensor.int64_data()) values.push_back(static_cast<double>(v));
      append_raw<std::int64_t>(raw, values);
      break;
    case pb::TensorProto::INT32:
      for (auto v : tensor.int32_data()) values.push_back(v);
      append_raw<std::int32_t>(raw, values);
      break;
    case pb::TensorProto::BOOL:
      for (auto v : tensor.int32_data()) values.push_back(v);
      append_raw<std::int8_t>(raw, values);
      break;
    case pb::TensorProto::FLOAT:
      for (auto v : tensor.float_data()) values.push_back(static_cast<double>(v));
      append_raw<float>(raw, values);
      break;
    case pb::TensorProto::DOUBLE:
      for (auto v : tensor.double_data()) values.push_back(v);
      append_raw<double>(raw, values);
      break;
    default:
      break;  // no shape is written in the others
  }
}

Constant to_constant(const pb::TensorProto& tensor) {
  Constant constant;
  constant.name = tensor.name();
  constant.dims.assign(tensor.dims().begin(), tensor.dims().end());
  constant.floating = is_floating(tensor.data_type());
  double elements = 1;
  for (std::int64_t dim : constant.dims) elements *= static_cast<double>(dim);
  const bool small =
      tensor.raw_data().size() <= 8 * kMostValues && tensor.int64_data_size() <= kMostValues &&
      tensor.int32_data_size() <= kMostValues && tensor.float_data_size() <= kMostValues &&
      tensor.double_data_size() <= kMostValues;
  if (small && elements <= static_cast<double>(kMostValues)) {
    read_values(tensor, constant.values);
    constant.has_values = static_cast<double>(constant.values.size()) == elements;
    if (!constant.has_values) constant.values.clear();
  }
  return constant;
}

Attribute to_attribute(const pb::AttributeProto& from) {
  Attribute to;
  to.i = from.i();
  to.f = static_cast<double>(from.f());
  to.s = from.s();
  to.ints.assign(from.ints().begin(), from.ints().end());
  to.floats.assign(from.floats().begin(), from.floats().end());
  if (from.has_t()) to.tensor = to_constant(from.t());
  to.is_graph = from.has_g() || from.graphs_size() > 0;
  return to;
}

Node to_node(const pb::NodeProto& from, int index) {
  Node node;
  node.op = from.op_type();
  node.name = from.name().empty() ? fmt::format("{}#{}", from.op_type(), index) : from.name();
  node.domain = from.domain() == "ai.onnx" ? "" : from.domain();
  node.inputs.assign(from.input().begin(), from.input().end());
  node.outputs.assign(from.output().begin(), from.output().end());
  for (const auto& attribute : from.attribute())
    node.attributes[attribute.name()] = to_attribute(attribute);
  return node;
}

Input to_input(const pb::ValueInfoProto& from) {
  Input input;
  input.name = from.name();
  const auto& tensor = from.type().tensor_type();
  input.integer =
      tensor.elem_type() == pb::TensorProto::INT64 || tensor.elem_type() == pb::TensorProto::INT32;
  input.has_shape = from.type().has_tensor_type() && tensor.has_shape();
  for (const auto& dim : tensor.shape().dim()) {
    input.dims.push_back({dim.has_dim_value() ? dim.dim_value() : 0, dim.dim_param()});
  }
  return input;
}

}  // namespace

File parse(std::string_view bytes, const std::string& path) {
  const Where where{path, 0, 0, ""};
  pb::ModelProto proto;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw_input_error("onnx.size", "the file is larger than the 2 GiB that protobuf can hold",
                      where, "save the weights as external data");
  if (bytes.empty() || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw_input_error("onnx.parse", "not an ONNX model, or cut short", where,
                      "export the model again");
  if (!proto.has_graph() || proto.graph().node_size() == 0)
    throw_input_error("onnx.empty", "the ONNX model has no graph with operators", where);

  File file;
  file.path = path;
  file.name = proto.graph().name();
  for (const auto& set : proto.opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx") file.opset = set.version();
  if (file.opset == 0)
    throw_input_error("onnx.parse", "the ONNX model names no operator set; it may be cut short",
                      where, "export the model again");
  std::set<std::string> weights;
  for (const auto& tensor : proto.graph().initializer()) {
    file.weights.push_back(to_constant(tensor));
    weights.insert(tensor.name());
  }
  for (const auto& node : proto.graph().node())
    file.nodes.push_back(to_node(node, static_cast<int>(file.nodes.size())));
  for (const auto& input : proto.graph().input())
    if (weights.count(input.name()) == 0) file.inputs.push_back(to_input(input));
  for (const auto& output : proto.graph().output()) file.outputs.push_back(output.name());
  return file;
}

#else

File parse(std::string_view, const std::string& path) {
  throw_environment_error("onnx.missing", fmt::format("{}: this build cannot read ONNX", path),
                          "install libonnx-dev and build again");
}

#endif

}  // namespace nereus::model::onnx
