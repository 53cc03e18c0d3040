// Checks that the outputs of a run can be written, before it trains for hours: creates an empty
// file next to each, and removes it. Checking permissions is not enough (root has all of them, and
// /proc accepts no files).
//
//   check_output_file("output.path", "-o", "there/result.json", errors);
//   check_output_folder("train.tensorboard", "--tensorboard", "events", errors);
#pragma once

#include <string>

#include "base/error.hpp"

namespace nereus::app {

// Empty paths are allowed: nothing is written there.
void check_output_file(const std::string& code, const std::string& option, const std::string& path,
                       ErrorList& errors);
// The folder is created if it does not exist.
void check_output_folder(const std::string& code, const std::string& option,
                         const std::string& path, ErrorList& errors);

}  // namespace nereus::app
