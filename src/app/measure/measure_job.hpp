// `nereus measure -- COMMAND`: what a step of somebody's own PyTorch job waits for.
//
//   StallAnswer a = measure_job({.command = {"torchrun", "train.py"}, .seconds = 60}, say);
//
// The command is started with python/shim first in PYTHONPATH. The shim runs the script's own steps
// in blocks that differ in one thing each, as nereus-worker does with our trainer, and writes their
// times to a folder; the statistics are those of measure/stalls.hpp. The script is not edited, and
// learns nothing while it is measured. Across machines, one call a machine; that of rank 0 answers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/measure/measure_stalls.hpp"

namespace nereus::app {

struct MeasuredJobRequest {
  std::vector<std::string> command;
  double seconds = 60;
  int rounds = 6;
};

// What the job prints is handed to `say` as it comes. Throws Errors: measure.no-program,
// measure.no-torch, measure.no-step, measure.rounds, measure.ranks. A job that fails is a failure
// of the answer.
StallAnswer measure_job(const MeasuredJobRequest& request,
                        const std::function<void(std::string_view)>& say);

}  // namespace nereus::app
