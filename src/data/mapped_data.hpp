// Maps data files into memory, with the error codes of this folder.
#pragma once

#include <string>

#include "base/mapped_file.hpp"

namespace nereus::data {

// Throws Errors: with the nearest name if there is no such file, else "data.unreadable".
MappedFile map_file(const std::string& path);

}  // namespace nereus::data
