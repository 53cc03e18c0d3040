#include "checkpoint/tensor_slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace nereus::checkpoint {

namespace {

// Calls each(index in from, index in to, elements) for every run that both have, in order, until it
// returns false.
template <class Each>
void for_each_shared(const SourceRange& from, const TargetRange& to, Each each) {
  if (from.map.spec() == to.map.spec()) {
    const std::int64_t begin = std::max(from.begin, to.begin);
    const std::int64_t end = std::min(from.end, to.end);
    if (begin < end) each(begin, begin, end - begin);
    return;
  }
  std::int64_t i = from.begin;
  std::int64_t j = to.begin;
  while (i < from.end && j < to.end) {
    const std::int64_t at_i = from.map.element(i);
    const std::int64_t at_j = to.map.element(j);
    if (at_i < at_j) {
      i = from.map.index_from(at_j);
    } else if (at_j < at_i) {
      j = to.map.index_from(at_i);
    } else {
      const std::int64_t n =
          std::min({from.map.run_left(i), to.map.run_left(j), from.end - i, to.end - j});
      if (!each(i, j, n)) return;
      i += n;
      j += n;
    }
  }
}

// The start of slice t of `of` in a part of `length`.
std::int64_t boundary(std::int64_t length, std::int64_t t, std::int64_t of) {
  const std::int64_t most = length / of + (length % of != 0);
  return t > 0 && most > length / t ? length : std::min(length, t * most);
}

}  // namespace

SliceSpec canonical(const SliceSpec& spec) {
  return spec.dim < 0 || spec.of == 1 ? SliceSpec{} : spec;
}

std::string fault_of(const SliceSpec& spec, const Shape& shape) {
  if (spec.dim < 0) return {};
  if (spec.of < 1 || spec.slice < 0 || spec.slice >= spec.of)
    return fmt::format("slice {} of {} does not exist", spec.slice, spec.of);
  if (spec.of == 1) return {};
  if (spec.dim >= static_cast<int>(shape.size()))
    return fmt::format("dim {} of a tensor of shape [{}]", spec.dim, fmt::join(shape, ", "));
  const std::int64_t length = shape[spec.dim];
  if (spec.groups < 1 || length % spec.groups != 0)
    return fmt::format("{} groups do not divide dim {} of shape [{}]", spec.groups, spec.dim,
                       fmt::join(shape, ", "));
  return {};
}

std::int64_t num_elements(const Shape& shape) {
  // An empty tensor first: its other lengths may be anything.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t product = 1;
  for (const std::int64_t length : shape) product *= length;
  return product;
}

Shape slice_shape(const Shape& shape, const SliceSpec& spec) {
  Shape result = shape;
  const SliceSpec s = canonical(spec);
  if (s.of == 1) return result;
  std::int64_t& length = result[s.dim];
  const std::int64_t part = length / s.groups;
  length = s.groups * (boundary(part, s.slice + 1, s.of) - boundary(part, s.slice, s.of));
  return result;
}

SliceMap::SliceMap(const Shape& shape, const SliceSpec& spec) : spec_(canonical(spec)) {
  const std::string fault = fault_of(spec_, shape);
  NEREUS_CHECK(fault.empty(), fault);
  size_ = num_elements(slice_shape(shape, spec_));
  if (size_ == 0) return;
  if (spec_.of == 1) {
    run_ = stride_ = size_;
    return;
  }
  std::int64_t inner = 1;
  for (std::size_t d = static_cast<std::size_t>(spec_.dim) + 1; d < shape.size(); ++d)
    inner *= shape[d];
  const std::int64_t part = shape[spec_.dim] / spec_.groups;
  const std::int64_t low = boundary(part, spec_.slice, spec_.of);
  run_ = (boundary(part, spec_.slice + 1, spec_.of) - low) * inner;
  stride_ = part * inner;
  first_ = low * inner;
}

std::int64_t SliceMap::index_from(std::int64_t element) const {
  const std::int64_t run = element / stride_;
  const std::int64_t inside = element % stride_ - first_;
  return run * run_ + std::clamp(inside, std::int64_t{0}, run_);
}

std::vector<SharedRun> shared_runs(const SourceRange& from, const TargetRange& to) {
  std::vector<SharedRun> runs;
  for_each_shared(from, to, [&](std::int64_t i, std::int64_t j, std::int64_t n) {
    runs.push_back({i, j, n});
    return true;
  });
  return runs;
}

std::int64_t copy_overlap(const SourceRange& from, const TargetRange& to,
                          std::size_t element_size) {
  std::int64_t copied = 0;
  for_each_shared(from, to, [&](std::int64_t i, std::int64_t j, std::int64_t n) {
    std::memcpy(to.bytes + static_cast<std::size_t>(j - to.begin) * element_size,
                from.bytes + static_cast<std::size_t>(i - from.begin) * element_size,
                static_cast<std::size_t>(n) * element_size);
    copied += n;
    return true;
  });
  return copied;
}

bool overlap(const SourceRange& from, const TargetRange& to) {
  bool any = false;
  for_each_shared(from, to, [&](std::int64_t, std::int64_t, std::int64_t) {
    any = true;
    return false;
  });
  return any;
}

}  // namespace nereus::checkpoint
