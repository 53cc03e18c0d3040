// One weight of a layer: its name in the family's own convention (Hugging Face, torchvision), its
// whole shape, how tensor parallelism cuts it, and how it starts.
//
// A cut divides `dim` into `groups` equal parts, and each part into tp slices of ceil(n / tp), the
// last what is left: slice t takes its share of every part. A fused [h, 3 h] weight of queries,
// keys and values has groups = 3, so that a slice holds whole heads of all three. dim = -1: every
// tensor rank holds all of it.
//
//   Parameter p{"transformer.h.0.attn.c_attn.weight", {768, 2304}, {1, 3}, {Init::kNormal, 0.02}};
//   slice_shape(p, 1, 2);                    // {768, 1152}
//   take_slice(whole, p.cut, 1, 2);          // the tensor that slice 1 of 2 holds
//
// Starting values depend on the seed and the name alone, whatever the plan.
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
  // The layer that owns this weight where it is tied: the same values, the sum of the gradients.
  int tied_to_layer = -1;

  bool decays() const { return shape.size() > 1; }  // matrices; norms and biases do not
  bool operator==(const Parameter&) const = default;
};

std::vector<std::int64_t> slice_shape(const Parameter& parameter, int slice, int num_slices);
std::int64_t slice_elements(const Parameter& parameter, int slice, int num_slices);
// [first, end) of `length` things that slice `slice` of `num_slices` has.
std::pair<std::int64_t, std::int64_t> slice_bounds(std::int64_t length, int slice, int num_slices);
at::Tensor take_slice(const at::Tensor& whole, const Cut& cut, int slice, int num_slices);

// In fp32 on the CPU, so that every plan and device starts with the same numbers.
at::Tensor initial_value(const Parameter& parameter, std::uint64_t seed);

std::uint64_t hash_of(std::string_view text, std::uint64_t seed);

}  // namespace nereus::worker
