// A file as read-only memory. Pages are loaded when they are accessed, and shared by all processes
// of a machine: a file of any size opens at once, and unread parts cost nothing.
//
//   int error = 0;
//   const MappedFile file = MappedFile::open("train.bin", error);   // sets error to an errno
//   file.bytes().subspan(8, 4);
//
// The caller decides what an error means. A file must not shrink while it is mapped.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nereus {

class MappedFile {
 public:
  // A folder gives EISDIR; anything else that is not a regular file gives ESPIPE.
  static MappedFile open(const std::string& path, int& error);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace nereus
