// Files of a checkpoint as memory, with this folder's words for what is wrong.
#pragma once

#include <string>

#include "base/mapped_file.hpp"

namespace nereus::checkpoint {

// Throws Errors: "checkpoint.missing-file" is the user's to mend, "checkpoint.read" the machine's.
MappedFile map_file(const std::string& path);

}  // namespace nereus::checkpoint
