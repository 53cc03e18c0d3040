// Arithmetic on small constants. Exporters write the target of a Reshape as Shape -> Gather -> Mul
// -> Concat. What is not folded here has no values; code that needs them reports an error.
#include <algorithm>
#include <cmath>
#include <functional>

#include "model/onnx/tensor.hpp"

namespace nereus::model::onnx {

namespace {

using Binary = std::function<double(double, double)>;

const std::map<std::string_view, Binary>& binaries() {
  static const std::map<std::string_view, Binary> kTable = {
      {"Add", std::plus<>()},
      {"Sub", std::minus<>()},
      {"Mul", std::multiplies<>()},
      {"Div", [](double a, double b) { return b == 0 ? 0 : a / b; }},
      {"Mod", [](double a, double b) { return b == 0 ? 0 : a - std::floor(a / b) * b; }},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
      {"Min", [](double a, double b) { return std::min(a, b); }},
      {"Max", [](double a, double b) { return std::max(a, b); }},
      {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"Greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
      {"LessOrEqual", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {"And", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
      {"Or", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
  };
  return kTable;
}

const std::map<std::string_view, std::function<double(double)>>& unaries() {
  static const std::map<std::string_view, std::function<double(double)>> kTable = {
      {"Neg", std::negate<>()},
      {"Abs", [](double a) { return std::abs(a); }},
      {"Floor", [](double a) { return std::floor(a); }},
      {"Ceil", [](double a) { return std::ceil(a); }},
      {"Round", [](double a) { return std::nearbyint(a); }},
      {"Sqrt", [](double a) { return a < 0 ? 0 : std::sqrt(a); }},
      {"Not", [](double a) { return a == 0 ? 1.0 : 0.0; }},
  };
  return kTable;
}

// Values of a tensor read as one of `count` elements: itself, or its single number over and over.
double value_at(const Tensor& t, std::size_t i) { return t.values[t.values.size() == 1 ? 0 : i]; }

bool readable_as(const Tensor& t, std::size_t count) {
  return t.values.size() == count || t.values.size() == 1;
}

void fold_gather(const Call& call, Tensor& out) {
  const Tensor& data = call.in(0);
  if (data.dims.size() != 1) return;
  for (double index : call.in(1).values) {
    const double at = index < 0 ? index + static_cast<double>(data.values.size()) : index;
    if (!(at >= 0 && at < static_cast<double>(data.values.size())))
      throw ShapeError("an index out of range");
    out.values.push_back(data.values[static_cast<std::size_t>(at)]);
  }
}

void fold_slice(const Call& call, Tensor& out) {
  const Tensor& data = call.in(0);
  if (data.dims.size() != 1) return;
  const Dims starts = call.ints(1, "starts");
  const Dims steps = call.has(4) ? call.ints(4, "steps") : Dims{1};
  if (starts.size() != 1 || steps.size() != 1 || std::abs(steps[0]) > kMostValues) return;
  const auto n = static_cast<std::int64_t>(data.values.size());
  const std::int64_t raw = starts[0] < 0 ? starts[0] + n : starts[0];
  std::int64_t at = std::clamp<std::int64_t>(raw, 0, steps[0] > 0 ? n : n - 1);
  for (std::int64_t i = 0; i < out.dims[0] && at >= 0 && at < n; ++i, at += steps[0])
    out.values.push_back(data.values[at]);
}

void fold_reduction(const std::string& op, const Tensor& x, Tensor& out) {
  if (elements(out.dims) != 1 || x.values.empty()) return;
  double total = x.values[0];
  for (std::size_t i = 1; i < x.values.size(); ++i) {
    if (op == "ReduceProd") total *= x.values[i];
    if (op == "ReduceSum") total += x.values[i];
    if (op == "ReduceMax") total = std::max(total, x.values[i]);
    if (op == "ReduceMin") total = std::min(total, x.values[i]);
  }
  out.values = {total};
}

void fold_elementwise(const Call& call, std::size_t count, Tensor& out) {
  const std::string& op = call.node.op;
  for (const Tensor* input : call.inputs)
    if (!readable_as(*input, count)) return;
  const auto binary = binaries().find(op);
  const auto unary = unaries().find(op);
  for (std::size_t i = 0; i < count; ++i) {
    double value = value_at(call.in(0), i);
    if (unary != unaries().end()) value = unary->second(value);
    for (std::size_t j = 1; binary != binaries().end() && j < call.inputs.size(); ++j)
      value = binary->second(value, value_at(call.in(j), i));
    if (op == "Where") value = value_at(call.in(value != 0 ? 1 : 2), i);
    // Integer division and casts drop the fraction.
    if (!out.floating && (op == "Div" || op == "Cast")) value = std::trunc(value);
    out.values.push_back(value);
  }
}

}  // namespace

void fold_values(const Call& call, Result& result) {
  if (result.outputs[0].has_values) return;
  for (const Tensor* input : call.inputs)
    if (input == nullptr || !input->has_values) return;
  Tensor& out = result.outputs[0];
  const double total = elements(out.dims);
  if (call.inputs.empty() || !out.constant || total > static_cast<double>(kMostValues)) return;
  const auto count = static_cast<std::size_t>(total);
  const std::string& op = call.node.op;
  const bool same = op == "Identity" || op == "Reshape" || op == "Squeeze" || op == "Unsqueeze" ||
                    op == "Flatten";
  if (same) {
    out.values = call.in(0).values;
  } else if (op == "Gather") {
    fold_gather(call, out);
  } else if (op == "Slice") {
    fold_slice(call, out);
  } else if (op == "Concat" && out.dims.size() == 1) {
    for (const Tensor* input : call.inputs)
      out.values.insert(out.values.end(), input->values.begin(), input->values.end());
  } else if (op == "Split" && out.dims.size() == 1) {
    std::size_t at = 0;
    for (Tensor& part : result.outputs) {
      const auto length = static_cast<std::size_t>(part.dims[0]);
      for (std::size_t i = 0; i < length && at < call.in(0).values.size(); ++i, ++at)
        part.values.push_back(call.in(0).values[at]);
      part.has_values = part.values.size() == length;
    }
    return;
  } else if (op == "Expand" && call.in(0).values.size() == 1) {
    out.values.assign(count, call.in(0).values[0]);
  } else if (op == "ReduceProd" || op == "ReduceSum" || op == "ReduceMax" || op == "ReduceMin") {
    fold_reduction(op, call.in(0), out);
  } else if (op == "Cast" || op == "Where" || binaries().count(op) > 0 || unaries().count(op) > 0) {
    fold_elementwise(call, count, out);
  }
  out.has_values = out.values.size() == count;
  if (!out.has_values) out.values.clear();
}

}  // namespace nereus::model::onnx
