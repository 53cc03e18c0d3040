#include "data/mapped_data.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "spec/source.hpp"

namespace nereus::data {

MappedFile map_file(const std::string& path) {
  int error = 0;
  MappedFile file = MappedFile::open(path, error);
  // Gives the best message for a missing file: with the nearest name.
  if (error == ENOENT || error == EISDIR) spec::read_text_file(path);
  if (error != 0)
    throw_input_error("data.unreadable",
                      fmt::format("cannot read \"{}\": {}", path, std::strerror(error)));
  return file;
}

}  // namespace nereus::data
