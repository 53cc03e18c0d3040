// The result of a call: the exit code of a Nereus process.
#pragma once

#include "base/error.hpp"

namespace nereus::api {

enum ExitCode {
  kDone = 0,
  kBug = 1,
  kBadInput = 2,
  kNothingFeasible = 3,  // a search found nothing; the reasons are printed
  kBadEnvironment = 4,
  kWorkerFailed = 5,
  kStoppedEarly = 10,  // with a valid partial result
  kPreempted = 75,     // after a saved checkpoint
};

inline ExitCode exit_code_of(const Errors& errors) {
  for (const Error& error : errors.list())
    if (error.kind == ErrorKind::kEnvironment) return kBadEnvironment;
  return kBadInput;
}

}  // namespace nereus::api
