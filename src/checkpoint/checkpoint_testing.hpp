// Shared by the tests of this folder: a small plan, random tensors.
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "checkpoint/tensor_slice.hpp"
#include "checkpoint/writer.hpp"
#include "plan/expand.hpp"
#include "plan/placement.hpp"
#include "plan/test_plans.hpp"

namespace nereus::checkpoint::testing {

// A number in [low, high), uniform from the first case on: rapidcheck starts with small ones, and
// most of a hundred cases would be tensors with one element.
template <class T>
T any_of(T low, T high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high));
}

inline plan::Plan small_plan(bool tied = true) {
  plan::Plan plan;
  plan.model = plan::testing::make_dense(2, tied);
  plan.cluster = plan::testing::make_cluster(1, 2);
  plan::Degrees degrees;
  degrees.dp = 2;
  degrees.global_batch = 2;
  plan.degrees = degrees;
  plan.placement = plan::expand(degrees, plan.model);
  return plan;
}

inline std::vector<std::byte> numbered_bytes(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  std::uint64_t state = seed * 2 + 1;
  for (std::byte& b : bytes) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    b = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

// The test oracle: the elements [begin, end) of a slice, picked one by one by the definition in
// tensor_slice.hpp. Intentionally slow and simple.
inline std::vector<std::byte> pick_elements(const std::vector<std::byte>& whole, const Shape& shape,
                                            const SliceSpec& spec, std::int64_t begin,
                                            std::int64_t end, std::size_t width) {
  std::vector<std::byte> picked;
  const std::int64_t total = num_elements(shape);
  std::int64_t seen = 0;
  for (std::int64_t element = 0; element < total; ++element) {
    if (spec.of > 1 && spec.dim >= 0) {
      std::int64_t inner = 1;
      for (std::size_t d = static_cast<std::size_t>(spec.dim) + 1; d < shape.size(); ++d)
        inner *= shape[d];
      const std::int64_t length = shape[spec.dim];
      const std::int64_t part = length / spec.groups;
      const std::int64_t in_part = element / inner % length % part;
      const std::int64_t most = (part + spec.of - 1) / spec.of;
      if (in_part < spec.slice * most || in_part >= (spec.slice + 1) * most) continue;
    }
    if (seen >= begin && seen < end)
      for (std::size_t b = 0; b < width; ++b)
        picked.push_back(whole[static_cast<std::size_t>(element) * width + b]);
    ++seen;
  }
  return picked;
}

inline std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline void write_bytes(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// Cuts [0, size) at random places; some ranges are empty.
inline std::vector<std::int64_t> random_cuts(std::int64_t size, int ranges) {
  std::vector<std::int64_t> cuts = {0, size};
  for (int i = 1; i < ranges; ++i) cuts.push_back(any_of(std::int64_t{0}, size + 1));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

// A random slice that the shape allows.
inline SliceSpec random_cut(const Shape& shape) {
  SliceSpec spec;
  spec.of = any_of(1, 5);
  if (spec.of == 1 || shape.empty()) return {};
  spec.dim = any_of(0, static_cast<int>(shape.size()));
  const std::int64_t length = shape[spec.dim];
  for (spec.groups = any_of(1, 4); length % spec.groups != 0;) --spec.groups;
  return spec;
}

inline Shape random_shape() {
  Shape shape(any_of<std::size_t>(0, 4));
  for (std::int64_t& length : shape) length = any_of(1, 13);
  return shape;
}

}  // namespace nereus::checkpoint::testing
