// `nereus train PLAN --background OTHER`: runs other jobs in the idle time of the foreground job on
// this machine's CPUs or GPUs (launch/background/runner.hpp), and ends them when the foreground job
// ends.
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

// Parses "PLAN[,key=value]..": data (default: synthetic), steps (default: as many as there is time
// for), seed, rate, norm-group, threads, checkpoint, resume. Throws Errors.
BackgroundRequest parse_background(const std::string& text);
// Parses "5%" or "0.05"; values above 1 need the sign: "500%". Throws Errors.
double parse_slowdown(const std::string& text);

// Whether background jobs take turns with the foreground; if not, they are stopped and woken.
bool takes_turns(const TrainRequest& request);

struct BackgroundJobs {
  std::vector<launch::BackgroundJob> list;
  launch::BackgroundOptions options;
};

// Throws all errors at once: those of each job, and train.background-device,
// train.background-launcher, train.background-folder, train.background-memory. Writes the jobs'
// files to `folder`.
BackgroundJobs set_up_background(const TrainRequest& request, const TrainSetup& foreground,
                                 const std::string& folder);

}  // namespace nereus::app
