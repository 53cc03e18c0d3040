// `nereus measure -- COMMAND` and `nereus measure --kineto FILE...`: options and calls that measure
// the stalls of other people's PyTorch jobs.
//
//   JobOptions given;
//   add_job_options(command, given);
//   if (given.named()) return run_job(caller, given, stalls, output);
#pragma once

#include <string>
#include <vector>

#include "api/form/caller.hpp"
#include "api/form/command.hpp"
#include "api/verbs/options.hpp"
#include "api/verbs/run_stalls.hpp"

namespace nereus::api {

struct JobOptions {
  std::vector<std::string> command;
  std::vector<std::string> traces;
  bool named() const { return !command.empty() || !traces.empty(); }
};

void add_job_options(Command& command, JobOptions& given);
int run_job(Caller& caller, const JobOptions& given, const StallOptions& stalls,
            const OutputOptions& output);

}  // namespace nereus::api
