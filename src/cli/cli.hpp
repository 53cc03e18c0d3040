// The command line as one function: finds the verb, parses its arguments, runs it, and turns what
// is thrown into messages and exit codes.
//
//   return nereus::cli::run({argv + 1, argv + argc});
//
// To add a verb: write src/app/X.hpp (what it does) and src/cli/verb_X.cpp (its options and its
// output), declare add_X in cli/verbs.hpp, and name it in all_verbs() in cli.cpp.
#pragma once

#include <string>
#include <vector>

namespace nereus::cli {

enum ExitCode {
  kDone = 0,
  kBug = 1,
  kBadInput = 2,
  kNothingFeasible = 3,  // a search found nothing; reasons printed
  kBadEnvironment = 4,
  kWorkerFailed = 5,
  kStoppedEarly = 10,  // with a valid partial result
  kPreempted = 75,     // after a saved checkpoint
};

int run(const std::vector<std::string>& words);

}  // namespace nereus::cli
