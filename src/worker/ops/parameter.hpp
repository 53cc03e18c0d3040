// One weight of a layer: its name in the convention of its model family (Hugging Face,
// torchvision), its whole shape, how tensor parallelism cuts it, and its initialization.
//
// A cut divides `dim` into `groups` equal parts of length n, and each part into tp pieces of length
// ceil(n / tp), the last of which have the remainder. Slice t consists of piece t of every part. A
// fused [h, 3 h] weight of queries, keys and values has groups = 3, so that a slice holds whole
// heads of all three. dim = -1: every tensor rank holds the whole weight.
//
//   Parameter p{"transformer.h.0.attn.c_attn.weight", {768, 2304}, {1, 3}, {Init::kNormal, 0.02}};
//   slice_shape(p, 1, 2);                    // {768, 1152}
//   take_slice(whole, p.cut, 1, 2);          // the tensor of slice 1 of 2
//
// Starting values depend only on the seed and the name, not on the plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/device/torch.hpp"

namespace nereus::worker {

struct Cut {
  int dim = -1;
  int groups = 1;
  bool operator==(const Cut&) const = default;
};

struct Init {
  enum Kind { kZero, kOne, kNormal, kUniform };
  Kind kind = kZero;
  double scale = 0;  // standard deviation, or bound
  bool operator==(const Init&) const = default;
};

struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  Cut cut{};
  Init init{};
  // For a tied weight, the layer that owns it: values are shared, gradients are summed.
  int tied_to_layer = -1;

  bool decays() const { return shape.size() > 1; }  // true for matrices, false for norms and biases
  bool operator==(const Parameter&) const = default;
};

std::vector<std::int64_t> slice_shape(const Parameter& parameter, int slice, int num_slices);
std::int64_t slice_elements(const Parameter& parameter, int slice, int num_slices);
// The range [first, end) of `length` items that belongs to slice `slice` of `num_slices`.
std::pair<std::int64_t, std::int64_t> slice_bounds(std::int64_t length, int slice, int num_slices);
at::Tensor take_slice(const at::Tensor& whole, const Cut& cut, int slice, int num_slices);

// In fp32 on the CPU, so that all plans and devices start with the same numbers.
at::Tensor initial_value(const Parameter& parameter, std::uint64_t seed);

std::uint64_t hash_of(std::string_view text, std::uint64_t seed);

}  // namespace nereus::worker
