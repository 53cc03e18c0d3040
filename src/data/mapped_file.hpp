// A file's bytes as memory, read by the system when they are touched: a token file of any size
// opens at once and costs no memory of ours. Pages are shared by all ranks of a machine.
//
//   const MappedFile file = MappedFile::open("train.bin");   // throws Errors
//   file.bytes().substr(0, 8);
//
// A file must not shrink while it is mapped; the project's own files are replaced, never changed.
#pragma once

#include <string>
#include <string_view>

namespace nereus::data {

class MappedFile {
 public:
  static MappedFile open(const std::string& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::string_view bytes() const { return {begin_, size_}; }

 private:
  const char* begin_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace nereus::data
