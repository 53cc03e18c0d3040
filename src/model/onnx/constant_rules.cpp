// Tensors that are known before the sample is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/onnx/tensor.hpp"

namespace nereus::model::onnx {

namespace {

void shape(const Call& call, Result& result) {
  const auto rank = static_cast<std::int64_t>(call.in(0).dims.size());
  const auto place = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t first = place(call.node.integer("start", 0));
  const std::int64_t last = std::max(first, place(call.node.integer("end", rank)));
  Tensor out;
  out.floating = false;
  out.dims = {last - first};
  out.has_values = true;
  for (std::int64_t i = first; i < last; ++i)
    out.values.push_back(static_cast<double>(call.in(0).dims[i]));
  result.outputs = {out};
  result.constant = true;
}

void size(const Call& call, Result& result) {
  Tensor out;
  out.floating = false;
  out.has_values = true;
  out.values = {elements(call.in(0).dims)};
  result.outputs = {out};
  result.constant = true;
}

void constant(const Call& call, Result& result) {
  Tensor out;
  out.has_values = true;
  const auto& attributes = call.node.attributes;
  const auto has = [&](const char* key) { return call.node.has(key); };
  if (has("value")) {
    const Constant& value = attributes.find("value")->second.tensor;
    out.dims = value.dims;
    out.floating = value.floating;
    out.has_values = value.has_values;
    out.values = value.values;
  } else if (has("value_int") || has("value_ints")) {
    out.floating = false;
    const Dims ints = has("value_ints") ? call.node.integers("value_ints")
                                        : Dims{call.node.integer("value_int", 0)};
    if (has("value_ints")) out.dims = {static_cast<std::int64_t>(ints.size())};
    for (std::int64_t v : ints) out.values.push_back(static_cast<double>(v));
  } else if (has("value_floats")) {
    out.values = attributes.find("value_floats")->second.floats;
    out.dims = {static_cast<std::int64_t>(out.values.size())};
  } else if (has("value_float")) {
    out.values = {attributes.find("value_float")->second.f};
  } else {
    throw ShapeError("it states no number");
  }
  result.outputs = {out};
  result.constant = true;
}

void constant_of_shape(const Call& call, Result& result) {
  Tensor out;
  out.dims = call.ints(0, "shape");
  check(out.dims);
  const auto value = call.node.attributes.find("value");
  const bool stated =
      value != call.node.attributes.end() && value->second.tensor.values.size() == 1;
  out.floating = !stated || value->second.tensor.floating;
  if (elements(out.dims) <= static_cast<double>(kMostValues)) {
    out.has_values = true;
    out.values.assign(static_cast<std::size_t>(elements(out.dims)),
                      stated ? value->second.tensor.values[0] : 0.0);
  }
  result.outputs = {out};
  result.constant = true;
}

void range(const Call& call, Result& result) {
  double bounds[3];
  for (std::size_t i = 0; i < 3; ++i) {
    if (call.in(i).values.size() != 1) throw ShapeError("its bounds are only known while it runs");
    bounds[i] = call.in(i).values[0];
  }
  const double count = std::max(0.0, std::ceil((bounds[1] - bounds[0]) / bounds[2]));
  if (!(count < 1e12))
    throw ShapeError(fmt::format("a range from {} to {} by {}", bounds[0], bounds[1], bounds[2]));
  Tensor out;
  out.floating = call.in(0).floating;
  out.dims = {static_cast<std::int64_t>(count)};
  if (count <= static_cast<double>(kMostValues)) {
    out.has_values = true;
    for (int i = 0; i < static_cast<int>(count); ++i)
      out.values.push_back(bounds[0] + i * bounds[2]);
  }
  result.outputs = {out};
  result.constant = true;
}

}  // namespace

const RuleTable& constant_rules() {
  static const RuleTable kTable = {
      {"Constant", constant}, {"ConstantOfShape", constant_of_shape},
      {"Range", range},       {"Shape", shape},
      {"Size", size},
  };
  return kTable;
}

}  // namespace nereus::model::onnx
