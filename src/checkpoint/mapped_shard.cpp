#include "checkpoint/mapped_shard.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace nereus::checkpoint {

MappedFile map_file(const std::string& path) {
  int error = 0;
  MappedFile file = MappedFile::open(path, error);
  if (error == 0) return file;
  const std::string message = fmt::format("cannot read {}: {}", path, std::strerror(error));
  if (error == ENOENT || error == ENOTDIR || error == EISDIR || error == EACCES)
    throw_input_error("checkpoint.missing-file", message, {path});
  throw_environment_error("checkpoint.read", message);
}

}  // namespace nereus::checkpoint
