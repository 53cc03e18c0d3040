// Maps files of a checkpoint into memory, with the error codes of this folder.
#pragma once

#include <string>

#include "base/mapped_file.hpp"

namespace nereus::checkpoint {

// Throws Errors: "checkpoint.missing-file" is a user error, "checkpoint.read" an environment error.
MappedFile map_file(const std::string& path);

}  // namespace nereus::checkpoint
