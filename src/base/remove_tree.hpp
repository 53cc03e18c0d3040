// Removes a file, or a folder with its content.
//
//   remove_tree("run/step-000050");
//
// It replaces std::filesystem::remove_all: PyTorch's wheels export another std::filesystem, and
// mixing parts of both crashes.
#pragma once

#include <string>

namespace nereus {

// Links are removed, not followed; a missing path is not an error. Returns errno, or 0.
int remove_tree(const std::string& path);

}  // namespace nereus
