// A file or folder with all below it, gone.
//
//   remove_tree("run/step-000050");
//
// In place of std::filesystem::remove_all: PyTorch's wheels export a std::filesystem of their own,
// and half of the one with half of the other ends in a call to nothing.
#pragma once

#include <string>

namespace nereus {

// Links are removed, not followed; what is not there is fine. Returns errno, or 0.
int remove_tree(const std::string& path);

}  // namespace nereus
