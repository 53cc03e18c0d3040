// `nereus measure -- COMMAND` and `nereus measure --kineto FILE...`: stalls of other people's
// PyTorch jobs, and the calls.
//
//   JobOptions given;
//   add_job_options(command, given);
//   if (given.named()) return run_job(session, given, stalls, output);
#pragma once

#include <string>
#include <vector>

#include "cli/text/command.hpp"
#include "cli/verbs/options.hpp"
#include "cli/verbs/run_stalls.hpp"

namespace nereus::cli {

struct JobOptions {
  std::vector<std::string> command;
  std::vector<std::string> traces;
  bool named() const { return !command.empty() || !traces.empty(); }
};

void add_job_options(Command& command, JobOptions& given);
int run_job(const Session& session, const JobOptions& given, const StallOptions& stalls,
            const OutputOptions& output);

}  // namespace nereus::cli
