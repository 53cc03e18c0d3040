#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "model/onnx/tensor.hpp"

namespace nereus::model::onnx {

namespace {

// Windows of a convolution or pool over the spatial dims. Bounded so that products fit 64 bits.
struct Windows {
  Dims kernel, strides, dilations, pads;
};

Dims bounded(Dims values, std::size_t count, std::int64_t otherwise, std::int64_t least,
             const char* what) {
  constexpr std::int64_t kMost = 1'000'000;
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count)
    throw ShapeError(fmt::format("{} has {}, expected {}", what,
                                 counted(values.size(), "entry", "entries"), count));
  for (std::int64_t value : values)
    if (value < least || value > kMost)
      throw ShapeError(fmt::format("{} = {} must lie in {} .. {}", what, value, least, kMost));
  return values;
}

Windows windows(const Node& node, Dims kernel, std::size_t spatial) {
  Windows w;
  w.kernel = bounded(std::move(kernel), spatial, 1, 1, "kernel_shape");
  w.strides = bounded(node.integers("strides"), spatial, 1, 1, "strides");
  w.dilations = bounded(node.integers("dilations"), spatial, 1, 1, "dilations");
  w.pads = bounded(node.integers("pads"), 2 * spatial, 0, 0, "pads");
  return w;
}

// Output size of each spatial dim: floor (or ceil) of (in + pads - span) / stride, plus 1.
Dims slide(const Call& call, const Dims& in, const Windows& w, std::int64_t channels) {
  const std::size_t spatial = w.kernel.size();
  const std::string auto_pad = call.node.text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  const bool ceil = call.node.integer("ceil_mode", 0) != 0;
  Dims out = {in[0], channels};
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t size = in[i + 2];
    const std::int64_t stride = w.strides[i];
    if (same) {
      out.push_back((size + stride - 1) / stride);
      continue;
    }
    const std::int64_t pads = auto_pad == "VALID" ? 0 : w.pads[i] + w.pads[i + spatial];
    const std::int64_t room = size + pads - (w.dilations[i] * (w.kernel[i] - 1) + 1);
    if (room < 0)
      throw ShapeError(fmt::format("a window of {} does not fit into {} + {} of padding",
                                   w.kernel[i], size, pads));
    out.push_back((room + (ceil ? stride - 1 : 0)) / stride + 1);
  }
  return out;
}

std::size_t spatial_rank(const Tensor& x) {
  if (x.dims.size() < 3)
    throw ShapeError(fmt::format("input {} needs at least 3 dims", to_text(x.dims)));
  return x.dims.size() - 2;
}

int as_int(double value) { return static_cast<int>(std::clamp(value, 0.0, 2e9)); }

void fill_convolution(const Call& call, Result& result, const Dims& in, const Dims& out,
                      const Dims& kernel, std::int64_t groups, double k) {
  Operator& op = result.work;
  op.name = call.node.op;
  op.kind = OpKind::kConvolution;
  op.window = as_int(elements(kernel));
  op.groups = as_int(static_cast<double>(groups));
  op.n = static_cast<double>(out[1]);
  op.rows = elements(out) / std::max(1.0, op.n);
  op.k = k;
  op.input_elements = elements(in);
  op.flops = 2 * op.rows * op.n * op.k;
  op.read_elements = elements(in);
  op.written_elements = elements(out);
  Tensor tensor;
  tensor.dims = out;
  result.outputs = {tensor};
  result.keeps_inputs = true;
}

void convolution(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  const Tensor& w = call.in(1);
  const std::size_t spatial = spatial_rank(x);
  const std::int64_t groups = call.node.integer("group", 1);
  if (w.dims.size() != x.dims.size())
    throw ShapeError(fmt::format("input {} and weight {}", to_text(x.dims), to_text(w.dims)));
  if (groups < 1 || groups > x.dims[1] || w.dims[1] != x.dims[1] / groups ||
      x.dims[1] % groups != 0 || w.dims[0] % groups != 0)
    throw ShapeError(fmt::format("input {}, weight {} and group = {} do not fit together",
                                 to_text(x.dims), to_text(w.dims), groups));
  const Dims kernel(w.dims.begin() + 2, w.dims.end());
  const Dims out = slide(call, x.dims, windows(call.node, kernel, spatial), w.dims[0]);
  fill_convolution(call, result, x.dims, out, kernel, groups,
                   static_cast<double>(w.dims[1]) * elements(kernel));
}

// The transpose of a convolution does the work of the convolution whose input gradient it is.
void convolution_transpose(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  const Tensor& w = call.in(1);
  const std::size_t spatial = spatial_rank(x);
  const std::int64_t groups = call.node.integer("group", 1);
  if (w.dims.size() != x.dims.size() || w.dims[0] != x.dims[1] || groups < 1 ||
      groups > 1'000'000 || x.dims[1] % groups != 0)
    throw ShapeError(fmt::format("input {}, weight {} and group = {} do not fit together",
                                 to_text(x.dims), to_text(w.dims), groups));
  const Dims kernel(w.dims.begin() + 2, w.dims.end());
  const Windows win = windows(call.node, kernel, spatial);
  const Dims extra = bounded(call.node.integers("output_padding"), spatial, 0, 0, "output_padding");
  Dims out = {x.dims[0], w.dims[1] * groups};
  for (std::size_t i = 0; i < spatial; ++i)
    out.push_back(win.strides[i] * (x.dims[i + 2] - 1) + extra[i] +
                  win.dilations[i] * (kernel[i] - 1) + 1 - win.pads[i] - win.pads[i + spatial]);
  check(out);
  const std::int64_t group_channels = x.dims[1] / groups;
  const double k = static_cast<double>(group_channels) * elements(kernel);
  fill_convolution(call, result, x.dims, out, kernel, groups, k);
  // Each input position meets the window once: rows are the input's.
  result.work.flops = 2 * elements(x.dims) * static_cast<double>(w.dims[1]) * elements(kernel);
}

void pool(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  const std::size_t spatial = spatial_rank(x);
  const Windows w = windows(call.node, call.node.integers("kernel_shape"), spatial);
  Tensor out;
  out.dims = slide(call, x.dims, w, x.dims[1]);
  result.work = memory_bound(call, OpKind::kPool, out.dims, elements(x.dims), 1);
  result.work.window = as_int(elements(w.kernel));
  result.work.input_elements = elements(x.dims);
  result.work.flops = elements(out.dims) * elements(w.kernel);
  if (call.node.op == "MaxPool") result.work.saved_bytes = 8 * elements(out.dims);
  result.outputs = {out};
}

void global_pool(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  spatial_rank(x);
  Tensor out;
  out.dims.assign(x.dims.size(), 1);
  out.dims[0] = x.dims[0];
  out.dims[1] = x.dims[1];
  result.work = memory_bound(call, OpKind::kPool, out.dims, elements(x.dims), 1);
  result.work.window = as_int(elements(x.dims) / std::max(1.0, elements(out.dims)));
  result.work.input_elements = elements(x.dims);
  result.outputs = {out};
}

void fill_product(const Call& call, Result& result, double groups, double rows, double n,
                  double k) {
  Operator& op = result.work;
  op.name = call.node.op;
  op.kind = OpKind::kGemm;
  op.batch = std::max(1.0, groups);
  op.rows = rows;
  op.n = n;
  op.k = k;
  op.flops = 2 * rows * n * k;
  for (std::size_t i = 0; i < 2; ++i)
    if (!call.in(i).constant) op.read_elements += elements(call.in(i).dims);
  op.written_elements = rows * n;
  result.keeps_inputs = true;
}

void gemm(const Call& call, Result& result) {
  const Dims& a = call.in(0).dims;
  const Dims& b = call.in(1).dims;
  if (a.size() != 2 || b.size() != 2)
    throw ShapeError(fmt::format("{} and {} must both have 2 dims", to_text(a), to_text(b)));
  const std::size_t ta = call.node.integer("transA", 0) != 0 ? 1 : 0;
  const std::size_t tb = call.node.integer("transB", 0) != 0 ? 1 : 0;
  if (a[1 - ta] != b[tb])
    throw ShapeError(fmt::format("inner dims {} and {} of {} and {} differ", a[1 - ta], b[tb],
                                 to_text(a), to_text(b)));
  Tensor out;
  out.dims = {a[ta], b[1 - tb]};
  if (call.has(2)) broadcast(out.dims, call.in(2).dims);
  result.outputs = {out};
  fill_product(call, result, 1, static_cast<double>(out.dims[0]), static_cast<double>(out.dims[1]),
               static_cast<double>(b[tb]));
}

void matmul(const Call& call, Result& result) {
  Dims a = call.in(0).dims;
  Dims b = call.in(1).dims;
  if (a.empty() || b.empty()) throw ShapeError("a factor has no dims");
  const bool vector_a = a.size() == 1;
  const bool vector_b = b.size() == 1;
  if (vector_a) a.insert(a.begin(), 1);
  if (vector_b) b.push_back(1);
  const std::int64_t m = a[a.size() - 2];
  const std::int64_t k = a.back();
  const std::int64_t n = b.back();
  if (k != b[b.size() - 2])
    throw ShapeError(fmt::format("inner dims {} and {} of {} and {} differ", k, b[b.size() - 2],
                                 to_text(a), to_text(b)));
  Dims lead = broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  // If one side is a weight, it is used for all rows: one product. Two activations are one product
  // per leading index.
  const double groups = elements(lead);
  const bool plain_weight = call.in(1).constant && b.size() == 2;
  if (call.in(0).constant && !call.in(1).constant) {
    fill_product(call, result, 1, groups * static_cast<double>(n), static_cast<double>(m),
                 static_cast<double>(k));
  } else {
    fill_product(call, result, plain_weight ? 1 : groups, groups * static_cast<double>(m),
                 static_cast<double>(n), static_cast<double>(k));
  }
  if (!vector_a) lead.push_back(m);
  if (!vector_b) lead.push_back(n);
  Tensor out;
  out.dims = lead;
  result.outputs = {out};
}

void norm(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  Tensor out;
  out.dims = x.dims;
  result.outputs = {out};
  result.light = true;
  result.keeps_inputs = true;
  result.work = memory_bound(call, OpKind::kNorm, x.dims, elements(x.dims), 5);
  result.weight_inputs = 3;  // scale and shift; running statistics are not trained
}

void loss(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  Tensor out;
  if (call.node.text("reduction", "mean") == "none") out.dims = call.in(1).dims;
  result.outputs = {out};
  result.light = true;
  result.keeps_inputs = true;
  const double total = elements(x.dims);
  result.work = memory_bound(call, OpKind::kLoss, x.dims, 3 * total, 1);
  result.work.flops = 5 * total;
  result.work.saved_bytes = 4 * total;
}

}  // namespace

const RuleTable& compute_rules() {
  static const RuleTable kTable = {
      {"AveragePool", pool},
      {"BatchNormalization", norm},
      {"Conv", convolution},
      {"ConvTranspose", convolution_transpose},
      {"Gemm", gemm},
      {"GlobalAveragePool", global_pool},
      {"GlobalLpPool", global_pool},
      {"GlobalMaxPool", global_pool},
      {"GroupNormalization", norm},
      {"InstanceNormalization", norm},
      {"LRN", norm},
      {"LayerNormalization", norm},
      {"LpNormalization", norm},
      {"LpPool", pool},
      {"MatMul", matmul},
      {"MaxPool", pool},
      {"MeanVarianceNormalization", norm},
      {"NegativeLogLikelihoodLoss", loss},
      {"RMSNormalization", norm},
      {"SimplifiedLayerNormalization", norm},
      {"SoftmaxCrossEntropyLoss", loss},
  };
  return kTable;
}

}  // namespace nereus::model::onnx
