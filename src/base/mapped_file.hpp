// A file as read-only memory. Pages come from the disk as they are touched and are shared by all
// processes of a machine: a file of any size opens at once, and what is not read costs nothing.
//
//   int error = 0;
//   const MappedFile file = MappedFile::open("train.bin", error);   // error: a number of errno
//   file.bytes().subspan(8, 4);
//
// Who calls it says what an error means. A file must not shrink while it is mapped.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nereus {

class MappedFile {
 public:
  // A folder is EISDIR, what is no regular file ESPIPE.
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
