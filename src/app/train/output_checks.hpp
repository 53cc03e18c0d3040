// Whether what a run is to write can be written, found out before it trains for hours: by making an
// empty file beside it and taking it away again. Permissions alone do not tell (root has them all,
// and /proc takes no files).
//
//   check_output_file("output.path", "-o", "there/result.json", errors);
//   check_output_folder("train.tensorboard", "--tensorboard", "events", errors);
#pragma once

#include <string>

#include "base/error.hpp"

namespace nereus::app {

// Empty paths are fine: nothing is written there.
void check_output_file(const std::string& code, const std::string& option, const std::string& path,
                       ErrorList& errors);
// One that is made when it is not there.
void check_output_folder(const std::string& code, const std::string& option,
                         const std::string& path, ErrorList& errors);

}  // namespace nereus::app
