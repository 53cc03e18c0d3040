#include "worker/ops/parameter.hpp"

#include "base/random.hpp"

namespace nereus::worker {

std::pair<std::int64_t, std::int64_t> slice_bounds(std::int64_t length, int slice, int num_slices) {
  const std::int64_t most = (length + num_slices - 1) / num_slices;
  return {std::min(length, slice * most), std::min(length, (slice + 1) * most)};
}

std::vector<std::int64_t> slice_shape(const Parameter& parameter, int slice, int num_slices) {
  std::vector<std::int64_t> shape = parameter.shape;
  if (parameter.cut.dim < 0) return shape;
  std::int64_t& length = shape[parameter.cut.dim];
  const auto [first, end] = slice_bounds(length / parameter.cut.groups, slice, num_slices);
  length = (end - first) * parameter.cut.groups;
  return shape;
}

std::int64_t slice_elements(const Parameter& parameter, int slice, int num_slices) {
  std::int64_t elements = 1;
  for (const std::int64_t length : slice_shape(parameter, slice, num_slices)) elements *= length;
  return elements;
}

at::Tensor take_slice(const at::Tensor& whole, const Cut& cut, int slice, int num_slices) {
  if (cut.dim < 0 || num_slices == 1) return whole;
  std::vector<at::Tensor> taken;
  for (const at::Tensor& part : whole.chunk(cut.groups, cut.dim)) {
    const auto [first, end] = slice_bounds(part.size(cut.dim), slice, num_slices);
    taken.push_back(part.narrow(cut.dim, first, end - first));
  }
  return at::cat(taken, cut.dim);
}

std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = splitmix64(seed);
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash = splitmix64(hash);
  }
  return hash;
}

at::Tensor initial_value(const Parameter& parameter, std::uint64_t seed) {
  at::Tensor value = at::empty(parameter.shape, at::kFloat);
  at::Generator generator = at::detail::createCPUGenerator(hash_of(parameter.name, seed));
  switch (parameter.init.kind) {
    case Init::kZero:
      return value.zero_();
    case Init::kOne:
      return value.fill_(1);
    case Init::kNormal:
      return value.normal_(0, parameter.init.scale, generator);
    case Init::kUniform:
      return value.uniform_(-parameter.init.scale, parameter.init.scale, generator);
  }
  return value;
}

}  // namespace nereus::worker
