#include "worker/execute/tensor_samples.hpp"

#include <cstring>

#include "base/error.hpp"
#include "checkpoint/safetensors.hpp"
#include "data/sample_source.hpp"

namespace nereus::worker {

namespace {

at::ScalarType type_of(checkpoint::DType dtype, const std::string& path) {
  switch (dtype) {
    case checkpoint::DType::kF32:
      return at::kFloat;
    case checkpoint::DType::kF64:
      return at::kDouble;
    case checkpoint::DType::kI64:
      return at::kLong;
    default:
      throw_input_error("train.data-shape",
                        std::string(to_string(dtype)) + " is no type of inputs or targets", {path},
                        "F32, F64 or I64");
  }
}

struct Rows {
  std::span<const std::byte> bytes;
  std::vector<std::int64_t> shape;  // of all
  at::ScalarType type = at::kFloat;

  at::Tensor take(const std::vector<std::uint64_t>& which) const {
    std::vector<std::int64_t> some = shape;
    some[0] = static_cast<std::int64_t>(which.size());
    at::Tensor rows = at::empty(some, type);
    const std::size_t size = bytes.size() / static_cast<std::size_t>(shape[0]);
    auto* to = static_cast<std::byte*>(rows.data_ptr());
    for (const std::uint64_t row : which) {
      std::memcpy(to, bytes.data() + row * size, size);
      to += size;
    }
    return rows;
  }
};

Rows open_rows(const checkpoint::SafetensorsFile& file, const char* name, const std::string& path) {
  const checkpoint::StoredTensor* found = file.find(name);
  if (found == nullptr || found->shape.empty() || found->shape[0] < 1)
    throw_input_error("train.data-shape", std::string("the file has no rows of ") + name, {path});
  return {file.bytes(*found), found->shape, type_of(found->dtype, path)};
}

}  // namespace

ReadBatch tensor_reader(const job::Job& job) {
  const std::string& path = job.data.path;
  const auto file = std::make_shared<const checkpoint::SafetensorsFile>(path);
  const Rows inputs = open_rows(*file, "inputs", path);
  const Rows targets = open_rows(*file, "targets", path);
  if (inputs.shape[0] != targets.shape[0])
    throw_input_error("train.data-shape", "inputs and targets differ in number", {path});
  const data::SampleOrder order{job.training.seed, job.data.shuffle};
  return [=, global_batch = job.plan.placement.global_batch](std::int64_t step, std::int64_t first,
                                                             std::int64_t count) {
    (void)file;  // mapped as long as this lives
    std::vector<std::uint64_t> rows;
    for (std::int64_t i = 0; i < count; ++i)
      rows.push_back(
          data::item_of_sample(static_cast<std::uint64_t>(step * global_batch + first + i),
                               static_cast<std::uint64_t>(inputs.shape[0]), order));
    return Batch{inputs.take(rows), targets.take(rows)};
  };
}

}  // namespace nereus::worker
