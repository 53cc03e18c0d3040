// Files of data as memory, with this folder's words for what is wrong.
#pragma once

#include <string>

#include "base/mapped_file.hpp"

namespace nereus::data {

// Throws Errors: where there is no such file with the nearest name, else "data.unreadable".
MappedFile map_file(const std::string& path);

}  // namespace nereus::data
