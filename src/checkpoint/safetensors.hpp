// Safetensors files (github.com/huggingface/safetensors, "Format"): plain tensors that can be
// mapped into memory.
//
//   8 bytes   N, the header's length, little-endian
//   N bytes   JSON: {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ..,
//             "__metadata__": {"KEY": "TEXT"}}, padded with spaces so that the data begin at a
//             multiple of 8
//   the rest  the tensors' bytes, row-major, little-endian; offsets count from here
//
// Rejected, as by the reference implementation: a header of more than 100 MB, duplicate names,
// tensors that overlap or leave bytes between them or at the end, sizes that disagree with dtype
// and shape.
//
// Files with the same tensors are equal byte for byte: the widest dtypes come first (so that each
// tensor is aligned to its elements), then names are sorted.
//
//   const SafetensorsFile file("model.safetensors");
//   file.bytes(*file.find("transformer.wte.weight"));
//
//   SafetensorsWriter writer("out.safetensors", {{"a", DType::kF32, {2, 3}}}, {{"format", "pt"}});
//   for (const StoredTensor& tensor : writer.tensors()) writer.write(bytes_of(tensor.name));
//   const FileSum sum = writer.finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checksum.hpp"
#include "checkpoint/mapped_shard.hpp"
#include "checkpoint/tensor_slice.hpp"

namespace nereus::checkpoint {

enum class DType {
  kBool,
  kU8,
  kI8,
  kF8E4m3,
  kF8E5m2,
  kU16,
  kI16,
  kF16,
  kBf16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64,
};
std::size_t element_size(DType dtype);
std::string_view to_string(DType dtype);  // "BF16"
std::optional<DType> parse_dtype(std::string_view text);
std::vector<std::string> dtype_names();

// Number of bytes of a tensor; empty if the number needs more than 63 bits, or a length is
// negative.
std::optional<std::uint64_t> num_bytes(DType dtype, const Shape& shape);

struct StoredTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape{};
  std::uint64_t begin = 0;  // offset in the data
  std::uint64_t end = 0;
  bool operator==(const StoredTensor&) const = default;
};

using Metadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  std::uint64_t data_begin = 0;       // offset in the file
  std::vector<StoredTensor> tensors;  // in the order of their bytes
  Metadata metadata;
};

inline constexpr std::uint64_t kMostHeaderBytes = 100'000'000;

// Reads and checks the header of a whole file; throws Errors with codes safetensors.*.
SafetensorsHeader parse_safetensors(std::span<const std::byte> file, const std::string& path);

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);  // throws Errors
  const SafetensorsHeader& header() const { return header_; }
  const StoredTensor* find(std::string_view name) const;  // nullptr = none
  std::span<const std::byte> bytes(const StoredTensor& tensor) const;
  std::span<const std::byte> all_bytes() const { return file_.bytes(); }

 private:
  MappedFile file_;
  SafetensorsHeader header_;
  std::map<std::string_view, std::size_t> index_;  // names of header_.tensors
};

struct FileSum {
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;  // Xxh64 of the whole file
};

// Streams a file: the header at once, then the bytes of every tensor in the order of tensors().
// Write errors throw Errors ("checkpoint.write"); an unfinished file is removed.
class SafetensorsWriter {
 public:
  SafetensorsWriter(std::string path, std::vector<StoredTensor> tensors, const Metadata& metadata);
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  void write(std::span<const std::byte> bytes);  // a tensor, or a part of one
  FileSum finish();                              // flushed to the disk

 private:
  void put(std::span<const std::byte> bytes);

  std::string path_;
  std::vector<StoredTensor> tensors_;
  int file_ = -1;
  std::uint64_t data_size_ = 0;
  std::uint64_t data_written_ = 0;
  std::uint64_t size_ = 0;
  Xxh64 sum_;
};

}  // namespace nereus::checkpoint
