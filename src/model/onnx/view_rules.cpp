// Reshapes and parts of a tensor: they share its memory and cost nothing.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "model/onnx/tensor.hpp"

namespace nereus::model::onnx {

namespace {

void identity(const Call& call, Result& result) {
  one_output(result, call.in(0).dims, call.in(0));
  result.view = true;
}

void reshape(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  Dims target = call.ints(1, "shape");
  const bool zero_is_zero = call.node.integer("allowzero", 0) != 0;
  std::int64_t* open = nullptr;
  double known = 1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && !zero_is_zero) {
      if (i >= x.dims.size())
        throw ShapeError(fmt::format("target {} copies dim {}, which {} lacks", to_text(target), i,
                                     to_text(x.dims)));
      target[i] = x.dims[i];
    }
    if (target[i] == -1) {
      if (open != nullptr)
        throw ShapeError(fmt::format("target {} leaves two dims open", to_text(target)));
      open = &target[i];
    } else {
      known *= static_cast<double>(target[i]);
    }
  }
  const double total = elements(x.dims);
  if (open != nullptr) *open = known > 0 ? static_cast<std::int64_t>(total / known) : 0;
  check(target);
  if (elements(target) != total)
    throw ShapeError(fmt::format("{} has {}, {} has {}", to_text(x.dims),
                                 counted(fmt::format("{}", total), "element"), to_text(target),
                                 elements(target)));
  one_output(result, target, x);
  result.view = true;
}

void squeeze(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  const Dims axes = call.ints(1, "axes");
  std::vector<bool> drop(x.dims.size(), false);
  if (axes.empty()) {
    for (std::size_t i = 0; i < drop.size(); ++i) drop[i] = x.dims[i] == 1;
  }
  for (std::int64_t axis : axes) drop[call.axis(axis, x.dims.size())] = true;
  Dims out;
  for (std::size_t i = 0; i < drop.size(); ++i) {
    if (!drop[i]) out.push_back(x.dims[i]);
    if (drop[i] && x.dims[i] != 1)
      throw ShapeError(fmt::format("dim {} of {} is not 1", i, to_text(x.dims)));
  }
  one_output(result, out, x);
  result.view = true;
}

void unsqueeze(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  const Dims axes = call.ints(1, "axes");
  const std::size_t rank = x.dims.size() + axes.size();
  std::vector<bool> fresh(rank, false);
  for (std::int64_t axis : axes) fresh[call.axis(axis, rank)] = true;
  if (static_cast<std::size_t>(std::count(fresh.begin(), fresh.end(), true)) != axes.size())
    throw ShapeError("an axis is named twice");
  Dims out;
  std::size_t from = 0;
  for (std::size_t i = 0; i < rank; ++i) out.push_back(fresh[i] ? 1 : x.dims[from++]);
  one_output(result, out, x);
  result.view = true;
}

void flatten(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  const std::int64_t axis = call.node.integer("axis", 1);
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  if (axis < -rank || axis > rank)
    throw ShapeError(fmt::format("axis {} of {}", axis, to_text(x.dims)));
  const auto cut = x.dims.begin() + (axis < 0 ? axis + rank : axis);
  one_output(result,
             {static_cast<std::int64_t>(elements(Dims(x.dims.begin(), cut))),
              static_cast<std::int64_t>(elements(Dims(cut, x.dims.end())))},
             x);
  result.view = true;
}

void slice(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  const Dims starts = call.ints(1, "starts");
  const Dims ends = call.ints(2, "ends");
  Dims axes = call.has_ints(3, "axes") ? call.ints(3, "axes") : Dims{};
  Dims steps = call.has(4) ? call.ints(4, "steps") : Dims{};
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    throw ShapeError("starts, ends, axes and steps differ in length");
  Dims out = x.dims;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = call.axis(axes[i], x.dims.size());
    const std::int64_t dim = x.dims[axis];
    const std::int64_t step = steps[i];
    if (step == 0) throw ShapeError("a step of 0");
    if (dim == 0) continue;
    const auto place = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
      return std::clamp(at < 0 ? at + dim : at, low, high);
    };
    const std::int64_t first = step > 0 ? place(starts[i], 0, dim) : place(starts[i], 0, dim - 1);
    const std::int64_t last = step > 0 ? place(ends[i], 0, dim) : place(ends[i], -1, dim - 1);
    const std::int64_t span = step > 0 ? last - first : first - last;
    const std::int64_t width = step > 0 ? step : -std::max(step, -std::int64_t{1} << 62);
    out[axis] = span <= 0 ? 0 : (span - 1) / width + 1;
  }
  one_output(result, out, x);
  result.view = true;
}

void split(const Call& call, Result& result) {
  const Tensor& x = call.in(0);
  const std::size_t axis = call.axis(call.node.integer("axis", 0), x.dims.size());
  Dims sizes = call.has_ints(1, "split") ? call.ints(1, "split") : Dims{};
  const auto parts = static_cast<std::int64_t>(call.node.outputs.size());
  if (sizes.empty()) {
    const std::int64_t each = (x.dims[axis] + parts - 1) / parts;
    for (std::int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::max<std::int64_t>(0, std::min(each, x.dims[axis] - i * each)));
  }
  double total = 0;
  for (std::int64_t size : sizes) total += static_cast<double>(size);
  if (static_cast<std::int64_t>(sizes.size()) != parts ||
      total != static_cast<double>(x.dims[axis]))
    throw ShapeError(fmt::format("parts {} of dim {} of {} into {}", to_text(sizes), axis,
                                 to_text(x.dims), counted(parts, "output")));
  for (std::int64_t size : sizes) {
    Tensor out;
    out.dims = x.dims;
    out.dims[axis] = size;
    out.floating = x.floating;
    result.outputs.push_back(out);
  }
  result.view = true;
}

}  // namespace

const RuleTable& view_rules() {
  static const RuleTable kTable = {
      {"Flatten", flatten}, {"Identity", identity}, {"Reshape", reshape},     {"Slice", slice},
      {"Split", split},     {"Squeeze", squeeze},   {"Unsqueeze", unsqueeze},
  };
  return kTable;
}

}  // namespace nereus::model::onnx
