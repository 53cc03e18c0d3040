// A file as read-only memory. Pages come from the disk as they are touched, so what is not read
// costs nothing.
//
//   const MappedFile file("layer-0000.rank-0000.safetensors");   // throws Errors
//   file.bytes().subspan(8, 4);
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace nereus::checkpoint {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace nereus::checkpoint
