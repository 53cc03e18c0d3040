// The command line as one function: finds the verb, parses its arguments, runs it, and converts
// exceptions to messages and exit codes.
//
//   return nereus::cli::run({argv + 1, argv + argc});
//
// To add a verb: write src/app/X/X.hpp (what it does) and src/api/verbs/verb_X.cpp (its options and
// its output), declare X_verb in api/verbs/verbs.hpp, and name it in all_verbs() in cli.cpp.
#pragma once

#include <string>
#include <vector>

namespace nereus::cli {

// Returns an exit code of api/form/exit_codes.hpp.
int run(const std::vector<std::string>& words);

}  // namespace nereus::cli
