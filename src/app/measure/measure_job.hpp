// `nereus measure -- COMMAND`: what a step of a user's PyTorch job waits for.
//
//   StallAnswer a = measure_job({.command = {"torchrun", "train.py"}, .seconds = 60}, say);
//
// The command is started with python/shim first in PYTHONPATH. The shim runs the script's steps in
// blocks, each of which changes one thing, as nereus-worker does with our trainer, and writes the
// times of the blocks to a folder. measure/stalls.hpp computes the statistics. The script is not
// edited, and its weights do not change while it is measured. With several machines, call it once
// per machine; the call of rank 0 returns the answer.
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

// Passes the job's output to `say` as it arrives. Throws Errors: measure.no-program,
// measure.no-torch, measure.no-step, measure.rounds, measure.ranks. If the job itself fails, the
// answer has a `failure`.
StallAnswer measure_job(const MeasuredJobRequest& request,
                        const std::function<void(std::string_view)>& say);

}  // namespace nereus::app
