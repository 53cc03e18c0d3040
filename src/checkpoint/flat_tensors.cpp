#include "checkpoint/flat_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace nereus::checkpoint {

namespace {

// Calls each(tensor, begin, end in its slice, first byte) for what the rank keeps.
template <class Each>
void for_each_kept(const FlatLayer& layer, std::size_t num_bytes, std::size_t width, Each each) {
  NEREUS_CHECK(layer.begin <= layer.end &&
                   num_bytes == static_cast<std::size_t>(layer.end - layer.begin) * width,
               fmt::format("{} bytes for elements [{}, {})", num_bytes, layer.begin, layer.end));
  for (const FlatTensor& tensor : layer.tensors) {
    if (tensor.offset < 0) continue;
    const std::int64_t size = num_elements(slice_shape(tensor.shape, tensor.slice));
    const std::int64_t begin = std::max(layer.begin, tensor.offset);
    const std::int64_t end = std::min(layer.end, tensor.offset + size);
    if (begin < end)
      each(tensor, begin - tensor.offset, end - tensor.offset,
           static_cast<std::size_t>(begin - layer.begin) * width);
  }
}

void check_tensor(const Checkpoint& saved, const FlatTensor& tensor, TensorKind kind, DType dtype,
                  ErrorList& errors) {
  const LogicalTensor* stored = saved.find(tensor.name, kind);
  const Where where{saved.folder() + "/" + kManifestFile};
  if (stored == nullptr)
    errors.add("checkpoint.no-tensor",
               fmt::format("{} holds no {} of {}", saved.folder(), to_string(kind), tensor.name),
               where, "a checkpoint of the same model and optimizer");
  else if (stored->shape != tensor.shape)
    errors.add("checkpoint.shape",
               fmt::format("{} is [{}] in the checkpoint and [{}] in the plan", tensor.name,
                           fmt::join(stored->shape, ", "), fmt::join(tensor.shape, ", ")),
               where, "a checkpoint of the same model");
  else if (stored->dtype != dtype)
    errors.add("checkpoint.dtype",
               fmt::format("{} ({}) is {} in the checkpoint and {} in the plan", tensor.name,
                           to_string(kind), to_string(stored->dtype), to_string(dtype)),
               where, "resume with the precision it was trained in");
}

}  // namespace

void add_parts(const FlatLayer& layer, TensorKind kind, DType dtype,
               std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner,
               std::vector<Part>& parts, bool all) {
  const std::size_t width = element_size(dtype);
  for_each_kept(
      layer, bytes.size(), width,
      [&](const FlatTensor& tensor, std::int64_t begin, std::int64_t end, std::size_t first) {
        if (!all && tensor.slice.dim < 0 && tensor.slice.slice > 0) return;
        parts.push_back(
            {tensor.name, kind, dtype, tensor.shape, tensor.slice, begin, end, layer.layer,
             bytes.subspan(first, static_cast<std::size_t>(end - begin) * width), owner});
      });
}

void read_flat(const Checkpoint& saved, const FlatLayer& layer, TensorKind kind, DType dtype,
               std::span<std::byte> bytes) {
  const std::size_t width = element_size(dtype);
  ErrorList errors;
  for (const FlatTensor& tensor : layer.tensors)
    if (tensor.offset >= 0) check_tensor(saved, tensor, kind, dtype, errors);
  errors.throw_if_any();
  for_each_kept(
      layer, bytes.size(), width,
      [&](const FlatTensor& tensor, std::int64_t begin, std::int64_t end, std::size_t first) {
        saved.read_range(tensor.name, kind, tensor.slice, begin, end,
                         bytes.subspan(first, static_cast<std::size_t>(end - begin) * width));
      });
}

}  // namespace nereus::checkpoint
