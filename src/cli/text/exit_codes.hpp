// What a process of Nereus ends with.
#pragma once

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

}  // namespace nereus::cli
