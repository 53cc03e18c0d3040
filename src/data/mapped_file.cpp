#include "data/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "spec/source.hpp"

namespace nereus::data {

namespace {

[[noreturn]] void cannot_read(const std::string& path, int error) {
  // Says it best where the file is missing: with the nearest name.
  if (error == ENOENT || error == EISDIR) spec::read_text_file(path);
  throw_input_error("data.unreadable",
                    fmt::format("cannot read \"{}\": {}", path, std::strerror(error)));
}

}  // namespace

MappedFile MappedFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) cannot_read(path, errno);
  struct stat status {};
  int error = fstat(file, &status) != 0 ? errno : 0;
  if (error == 0 && S_ISDIR(status.st_mode)) error = EISDIR;
  if (error == 0 && !S_ISREG(status.st_mode)) error = ESPIPE;
  MappedFile mapped;
  if (error == 0 && status.st_size > 0) {
    mapped.size_ = static_cast<std::size_t>(status.st_size);
    void* begin = mmap(nullptr, mapped.size_, PROT_READ, MAP_SHARED, file, 0);
    if (begin == MAP_FAILED) {
      error = errno;
      mapped.size_ = 0;
    } else {
      mapped.begin_ = static_cast<const char*>(begin);
    }
  }
  close(file);
  if (error != 0) cannot_read(path, error);
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (begin_ != nullptr) munmap(const_cast<char*>(begin_), size_);
}

}  // namespace nereus::data
