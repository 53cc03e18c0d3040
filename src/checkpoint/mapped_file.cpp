#include "checkpoint/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace nereus::checkpoint {

namespace {

[[noreturn]] void cannot_read(const std::string& path, int error) {
  const std::string message = fmt::format("cannot read {}: {}", path, std::strerror(error));
  if (error == ENOENT || error == ENOTDIR || error == EISDIR || error == EACCES)
    throw_input_error("checkpoint.missing-file", message, {path});
  throw_environment_error("checkpoint.read", message);
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) cannot_read(path, errno);
  struct stat status {};
  int error = fstat(file, &status) == 0 ? 0 : errno;
  if (error == 0 && !S_ISREG(status.st_mode)) error = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  if (error == 0 && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED)
      error = errno;
    else
      bytes_ = {static_cast<const std::byte*>(memory), size};
  }
  close(file);
  if (error != 0) cannot_read(path, error);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace nereus::checkpoint
