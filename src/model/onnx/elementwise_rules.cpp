#include <algorithm>

#include "model/onnx/tensor.hpp"

namespace nereus::model::onnx {

namespace {

double activation_elements(const Call& call) {
  double total = 0;
  for (const Tensor* input : call.inputs)
    if (input != nullptr && !input->constant) total += elements(input->dims);
  return total;
}

void unary(const Call& call, Result& result) {
  Tensor out;
  out.dims = call.in(0).dims;
  out.floating = call.in(0).floating;
  result.outputs = {out};
  result.light = true;
  result.work = memory_bound(call, OpKind::kElementwise, out.dims, activation_elements(call), 1);
}

void unary_keeps_input(const Call& call, Result& result) {
  unary(call, result);
  result.keeps_inputs = true;
}

void unary_keeps_output(const Call& call, Result& result) {
  unary(call, result);
  result.keeps_output = true;
}

void softmax(const Call& call, Result& result) {
  unary_keeps_output(call, result);
  result.work.flops *= 5;
}

void dropout(const Call& call, Result& result) {
  unary(call, result);
  result.work.saved_bytes = elements(call.in(0).dims);  // a byte of mask each
}

void cast(const Call& call, Result& result) {
  unary(call, result);
  const std::int64_t to = call.node.integer("to", 1);
  result.outputs[0].floating = to == 1 || to == 10 || to == 11 || to == 16;
}

// All inputs broadcast together.
void nary(const Call& call, Result& result) {
  Tensor out;
  out.dims = call.in(0).dims;
  out.floating = false;
  for (const Tensor* input : call.inputs) {
    if (input == nullptr) continue;
    out.dims = broadcast(out.dims, input->dims);
    out.floating = out.floating || input->floating;
  }
  result.outputs = {out};
  result.light = true;
  result.work = memory_bound(call, OpKind::kElementwise, out.dims, activation_elements(call), 1);
}

// A product's gradients need the other factor; a plain number needs no keeping.
void product(const Call& call, Result& result) {
  nary(call, result);
  int factors = 0;
  for (const Tensor* input : call.inputs)
    if (input != nullptr && (!input->constant || elements(input->dims) > 1)) ++factors;
  result.keeps_inputs = factors > 1;
}

void keeps_all(const Call& call, Result& result) {
  nary(call, result);
  result.keeps_inputs = true;
}

void comparison(const Call& call, Result& result) {
  nary(call, result);
  result.outputs[0].floating = false;
}

void where(const Call& call, Result& result) {
  nary(call, result);
  result.outputs[0].floating = call.in(1).floating;
}

void reduce(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  const bool keep = call.node.integer("keepdims", 1) != 0;
  Dims axes = call.has_ints(1, "axes") ? call.ints(1, "axes") : Dims{};
  const bool none = axes.empty() && call.node.integer("noop_with_empty_axes", 0) != 0;
  std::vector<bool> reduced(x.dims.size(), axes.empty() && !none);
  for (std::int64_t axis : axes) reduced[call.axis(axis, x.dims.size())] = true;
  Tensor out;
  out.floating = x.floating;
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    if (!reduced[i]) out.dims.push_back(x.dims[i]);
    if (reduced[i] && keep) out.dims.push_back(1);
  }
  result.outputs = {out};
  result.light = true;
  result.work = memory_bound(call, OpKind::kElementwise, out.dims, activation_elements(call), 1);
}

void reduce_keeps_input(const Call& call, Result& result) {
  reduce(call, result);
  result.keeps_inputs = true;
}

}  // namespace

const RuleTable& elementwise_rules() {
  static const RuleTable kTable = {
      {"Abs", unary_keeps_input},
      {"Acos", unary_keeps_input},
      {"Add", nary},
      {"And", comparison},
      {"Asin", unary_keeps_input},
      {"Atan", unary_keeps_input},
      {"Cast", cast},
      {"CastLike", unary},
      {"Ceil", unary},
      {"Celu", unary_keeps_input},
      {"Clip", unary_keeps_input},
      {"Cos", unary_keeps_input},
      {"Cosh", unary_keeps_input},
      {"CumSum", unary},
      {"Div", product},
      {"Dropout", dropout},
      {"Elu", unary_keeps_output},
      {"Equal", comparison},
      {"Erf", unary_keeps_input},
      {"Exp", unary_keeps_output},
      {"FastGelu", unary_keeps_input},
      {"Floor", unary},
      {"Gelu", unary_keeps_input},
      {"Greater", comparison},
      {"GreaterOrEqual", comparison},
      {"HardSigmoid", unary_keeps_input},
      {"HardSwish", unary_keeps_input},
      {"Hardmax", unary},
      {"IsInf", unary},
      {"IsNaN", unary},
      {"LeakyRelu", unary_keeps_output},
      {"Less", comparison},
      {"LessOrEqual", comparison},
      {"Log", unary_keeps_input},
      {"LogSoftmax", softmax},
      {"Max", keeps_all},
      {"Mean", nary},
      {"Min", keeps_all},
      {"Mish", unary_keeps_input},
      {"Mod", nary},
      {"Mul", product},
      {"Neg", unary},
      {"Not", unary},
      {"Or", comparison},
      {"PRelu", keeps_all},
      {"Pow", keeps_all},
      {"QuickGelu", unary_keeps_input},
      {"Reciprocal", unary_keeps_output},
      {"ReduceL1", reduce_keeps_input},
      {"ReduceL2", reduce_keeps_input},
      {"ReduceLogSum", reduce_keeps_input},
      {"ReduceLogSumExp", reduce_keeps_input},
      {"ReduceMax", reduce_keeps_input},
      {"ReduceMean", reduce},
      {"ReduceMin", reduce_keeps_input},
      {"ReduceProd", reduce_keeps_input},
      {"ReduceSum", reduce},
      {"ReduceSumSquare", reduce_keeps_input},
      {"Relu", unary_keeps_output},
      {"Round", unary},
      {"Selu", unary_keeps_output},
      {"Sigmoid", unary_keeps_output},
      {"Sign", unary},
      {"Sin", unary_keeps_input},
      {"Sinh", unary_keeps_input},
      {"Softmax", softmax},
      {"Softplus", unary_keeps_input},
      {"Softsign", unary_keeps_input},
      {"Sqrt", unary_keeps_output},
      {"Sub", nary},
      {"Sum", nary},
      {"Swish", unary_keeps_input},
      {"Tan", unary_keeps_input},
      {"Tanh", unary_keeps_output},
      {"ThresholdedRelu", unary_keeps_input},
      {"Trilu", unary},
      {"Where", where},
      {"Xor", comparison},
  };
  return kTable;
}

}  // namespace nereus::model::onnx
