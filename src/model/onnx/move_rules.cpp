// Operators that move elements without arithmetic.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/onnx/tensor.hpp"

namespace nereus::model::onnx {

namespace {

void copies(const Call& call, Result& result, double read) {
  result.light = true;
  result.work = memory_bound(call, OpKind::kElementwise, result.outputs[0].dims, read, 0);
}

void copies_output(const Call& call, Result& result) {
  copies(call, result, elements(result.outputs[0].dims));
}

void transpose(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  Dims perm = call.node.integers("perm");
  if (perm.empty())
    for (std::size_t i = x.dims.size(); i > 0; --i)
      perm.push_back(static_cast<std::int64_t>(i - 1));
  std::vector<bool> seen(x.dims.size(), false);
  Dims out;
  for (std::int64_t axis : perm) {
    const std::size_t at = call.axis(axis, x.dims.size());
    seen[at] = true;
    out.push_back(x.dims[at]);
  }
  if (perm.size() != x.dims.size() || std::find(seen.begin(), seen.end(), false) != seen.end())
    throw ShapeError(
        fmt::format("perm {} does not order the dims of {}", to_text(perm), to_text(x.dims)));
  one_output(result, out, x);
  copies_output(call, result);
}

void concat(const Call& call, Result& result) {
  const Tensor& first = call.in(0);
  const std::size_t axis = call.axis(call.node.integer("axis", 0), first.dims.size());
  Dims out = first.dims;
  double joined = static_cast<double>(first.dims[axis]);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    Dims part = call.in(i).dims;
    if (part.size() != out.size())
      throw ShapeError(fmt::format("{} beside {}", to_text(part), to_text(first.dims)));
    joined += static_cast<double>(part[axis]);
    part[axis] = first.dims[axis];
    if (part != first.dims)
      throw ShapeError(fmt::format("{} beside {} along dim {}", to_text(call.in(i).dims),
                                   to_text(first.dims), axis));
  }
  out[axis] = static_cast<std::int64_t>(std::min(joined, 1e18));
  one_output(result, out, first);
  copies_output(call, result);
}

void gather(const Call& call, Result& result) {
  const Tensor& data = call.in(0);
  const Tensor& indices = call.in(1);
  const std::size_t axis = call.axis(call.node.integer("axis", 0), data.dims.size());
  Dims out(data.dims.begin(), data.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  out.insert(out.end(), indices.dims.begin(), indices.dims.end());
  out.insert(out.end(), data.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.dims.end());
  one_output(result, out, data);
  copies_output(call, result);
  if (data.constant && data.floating && !indices.constant) {
    result.light = false;
    result.work.kind = OpKind::kEmbedding;
    result.work.k = static_cast<double>(data.dims[axis]);
  }
}

void gather_elements(const Call& call, Result& result) {
  one_output(result, call.in(1).dims, call.in(0));
  copies_output(call, result);
}

void gather_nd(const Call& call, Result& result) {
  const Dims& data = call.in(0).dims;
  const Dims& indices = call.in(1).dims;
  const std::int64_t skipped = call.node.integer("batch_dims", 0);
  const auto rank = static_cast<std::int64_t>(data.size());
  if (indices.empty() || skipped < 0 || skipped > rank || indices.back() < 0 ||
      indices.back() > rank - skipped)
    throw ShapeError(fmt::format("indices {} into {}", to_text(indices), to_text(data)));
  Dims out(indices.begin(), indices.end() - 1);
  out.insert(out.end(), data.begin() + (skipped + indices.back()), data.end());
  one_output(result, out, call.in(0));
  copies_output(call, result);
}

void scatter(const Call& call, Result& result) {
  one_output(result, call.in(0).dims, call.in(0));
  copies_output(call, result);
}

void expand(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  const Dims target = call.ints(1, "shape");
  check(target);
  one_output(result, broadcast(x.dims, target), x);
  copies(call, result, elements(x.dims));
}

void tile(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  const Dims repeats = call.ints(1, "repeats");
  check(repeats);
  if (repeats.size() != x.dims.size())
    throw ShapeError(fmt::format("repeats {} of {}", to_text(repeats), to_text(x.dims)));
  Dims out;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const double dim = static_cast<double>(x.dims[i]) * static_cast<double>(repeats[i]);
    out.push_back(static_cast<std::int64_t>(std::min(dim, 1e18)));
  }
  one_output(result, out, x);
  copies(call, result, elements(x.dims));
}

void pad(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  const Dims pads = call.ints(1, "pads");
  Dims axes = call.has(3) ? call.ints(3, "axes") : Dims{};
  if (axes.empty())
    for (std::size_t i = 0; i < x.dims.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (pads.size() != 2 * axes.size())
    throw ShapeError(fmt::format("pads {} for {}", to_text(pads), to_text(x.dims)));
  Dims out = x.dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = call.axis(axes[i], x.dims.size());
    const double size = static_cast<double>(out[axis]) + static_cast<double>(pads[i]) +
                        static_cast<double>(pads[i + axes.size()]);
    out[axis] = static_cast<std::int64_t>(std::clamp(size, -1.0, 1e18));
  }
  one_output(result, out, x);
  copies(call, result, elements(x.dims));
}

void resize(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  Dims out = x.dims;
  if (call.has(3) && !call.in(3).dims.empty() && call.in(3).dims[0] > 0) {
    out = call.ints(3, "sizes");
  } else {
    const std::size_t at = call.inputs.size() > 2 ? 2 : 1;
    std::vector<double> scales;
    if (call.has(at)) scales = call.in(at).values;
    const auto attribute = call.node.attributes.find("scales");
    if (attribute != call.node.attributes.end()) scales = attribute->second.floats;
    if (scales.size() != out.size()) throw ShapeError("its scales are only known while it runs");
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double size = std::floor(static_cast<double>(out[i]) * scales[i]);
      if (!(size >= 0 && size < 1e18)) throw ShapeError(fmt::format("a scale of {}", scales[i]));
      out[i] = static_cast<std::int64_t>(size);
    }
  }
  one_output(result, out, x);
  copies(call, result, elements(x.dims));
}

std::int64_t block_size(const Call& call) {
  const std::int64_t b = call.node.integer("blocksize", 1);
  if (call.in(0).dims.size() != 4 || b < 1 || b > 1000)
    throw ShapeError(fmt::format("blocksize {} of {}", b, to_text(call.in(0).dims)));
  return b;
}

void depth_to_space(const Call& call, Result& result) {
  const std::int64_t b = block_size(call);
  const Dims& x = call.in(0).dims;
  one_output(result, {x[0], x[1] / (b * b), x[2] * b, x[3] * b}, call.in(0));
  copies_output(call, result);
}

void space_to_depth(const Call& call, Result& result) {
  const std::int64_t b = block_size(call);
  const Dims& x = call.in(0).dims;
  one_output(result, {x[0], x[1] * b * b, x[2] / b, x[3] / b}, call.in(0));
  copies_output(call, result);
}

void one_hot(const Call& call, Result& result) {
  Dims out = call.in(0).dims;
  const Dims depth = call.ints(1, "depth");
  if (depth.size() != 1) throw ShapeError("its depth is not one number");
  const std::size_t axis = call.axis(call.node.integer("axis", -1), out.size() + 1);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis), depth[0]);
  one_output(result, out, call.in(2));
  copies_output(call, result);
}

void arg_max(const Call& call, Result& result) {
  Dims out = call.in(0).dims;
  const std::size_t axis = call.axis(call.node.integer("axis", 0), out.size());
  if (call.node.integer("keepdims", 1) != 0) {
    out[axis] = 1;
  } else {
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  one_output(result, out, call.in(0));
  result.outputs[0].floating = false;
  copies(call, result, elements(call.in(0).dims));
}

void top_k(const Call& call, Result& result) {
  Dims out = call.in(0).dims;
  const std::size_t axis = call.axis(call.node.integer("axis", -1), out.size());
  const Dims k = call.has(1) ? call.ints(1, "k") : Dims{call.node.integer("k", 0)};
  if (k.size() != 1) throw ShapeError("its k is not one number");
  out[axis] = k[0];
  one_output(result, out, call.in(0));
  copies(call, result, elements(call.in(0).dims));
}

}  // namespace

const RuleTable& move_rules() {
  static const RuleTable kTable = {
      {"ArgMax", arg_max},
      {"ArgMin", arg_max},
      {"Concat", concat},
      {"DepthToSpace", depth_to_space},
      {"Expand", expand},
      {"EyeLike", scatter},
      {"Gather", gather},
      {"GatherElements", gather_elements},
      {"GatherND", gather_nd},
      {"OneHot", one_hot},
      {"Pad", pad},
      {"Resize", resize},
      {"ScatterElements", scatter},
      {"ScatterND", scatter},
      {"SpaceToDepth", space_to_depth},
      {"Tile", tile},
      {"TopK", top_k},
      {"Transpose", transpose},
      {"Upsample", resize},
  };
  return kTable;
}

}  // namespace nereus::model::onnx
