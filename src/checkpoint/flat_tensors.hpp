// A layer's tensors as one flat buffer, of which a rank keeps a range. The worker stores state in
// this form; each function here saves or reads it in one call.
//
//   flat buffer of slice t:   [ tensor 0's slice | tensor 1's slice | .. ]     offsets in elements
//   this rank keeps                        [begin        end)
//
// A range may begin or end inside a tensor; each tensor in it gives one part. Tensors that tensor
// parallelism does not cut (slice.dim < 0) are equal in all slices: slice 0 saves them, all slices
// read them.
//
//   FlatLayer layer{3, {{"h.0.ln_1.weight", {64}, {t, tp, -1}, 0}, ..}, owned.begin, owned.end};
//   add_parts(layer, TensorKind::kAdamM, DType::kF32, bytes, owner, parts);   // then Writer::save
//   read_flat(saved, layer, TensorKind::kAdamM, DType::kF32, bytes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_reader.hpp"
#include "checkpoint/writer.hpp"

namespace nereus::checkpoint {

struct FlatTensor {
  std::string name;
  Shape shape{};      // of the whole tensor
  SliceSpec slice{};  // the part of it on this rank
  // Start of the slice in the buffer; below 0: not in the buffer (a tied weight).
  std::int64_t offset = 0;
};

struct FlatLayer {
  int layer = 0;
  std::vector<FlatTensor> tensors{};
  std::int64_t begin = 0;  // the range that this rank keeps, in elements of the buffer
  std::int64_t end = 0;
};

// `bytes` are the elements [begin, end); they are not copied, and `owner` keeps them alive. With
// `all`, a slice other than 0 also adds the uncut tensors, which slice 0 adds in any case.
void add_parts(const FlatLayer& layer, TensorKind kind, DType dtype,
               std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner,
               std::vector<Part>& parts, bool all = false);

// Fills the elements [begin, end). Throws Errors that list all tensors that are missing from the
// checkpoint ("checkpoint.no-tensor"), or have another shape ("checkpoint.shape") or dtype
// ("checkpoint.dtype").
void read_flat(const Checkpoint& saved, const FlatLayer& layer, TensorKind kind, DType dtype,
               std::span<std::byte> bytes);

}  // namespace nereus::checkpoint
