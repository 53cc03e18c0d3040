// `nereus train PLAN --background OTHER`: other jobs in what the first one leaves of this machine's
// CPUs or GPUs (launch/background/runner.hpp), ended with it.
//
//   BackgroundRequest job = parse_background("bg.plan.json,data=text.tokens,steps=1000");
//   BackgroundJobs jobs = set_up_background(request, foreground);         // throws Errors
//   launch::BackgroundRunner runner(jobs.list, jobs.options);
#pragma once

#include <string>
#include <vector>

#include "app/train/train_setup.hpp"
#include "launch/background/runner.hpp"

namespace nereus::app {

// "PLAN[,key=value]..": data (synthetic), steps (as many as there is time for), seed, rate,
// norm-group, threads, checkpoint, resume. Throws Errors.
BackgroundRequest parse_background(const std::string& text);
// "5%" or "0.05"; more than 1 only with the sign: "500%". Throws Errors.
double parse_slowdown(const std::string& text);

// Or is stopped and woken.
bool takes_turns(const TrainRequest& request);

struct BackgroundJobs {
  std::vector<launch::BackgroundJob> list;
  launch::BackgroundOptions options;
};

// All that is wrong, said at once: that of each job's own, and train.background-device,
// train.background-launcher, train.background-folder, train.background-memory.
// The jobs' files are written to `folder`.
BackgroundJobs set_up_background(const TrainRequest& request, const TrainSetup& foreground,
                                 const std::string& folder);

}  // namespace nereus::app
