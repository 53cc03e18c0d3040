// Parses the words of a command line as a verb's request, and makes the verb's help.
//
//   parse_words(command, {"--tp", "8"});    // throws one Errors with everything that is wrong
//   command.run();
//
// Detects unknown options, invalid values and missing arguments. CLI11 splits the words.
#pragma once

#include <string>
#include <vector>

#include "api/form/command.hpp"

namespace nereus::cli {

void parse_words(api::Command& command, const std::vector<std::string>& words);
bool asks_for_help(const std::vector<std::string>& words);
std::string help_text(const api::Command& command, int width);  // 0 = 100 columns

}  // namespace nereus::cli
