// What `nereus train` does before anything starts: the plan is resolved, and all that can be known
// to be wrong is said at once.
//
//   TrainSetup setup = set_up(request);      // throws Errors
//   setup.job;                               // what the workers will read
#pragma once

#include "app/train/train.hpp"
#include "launch/supervise.hpp"

namespace nereus::app {

struct TrainSetup {
  ResolvedPlan resolved;
  job::Job job;
  int num_ranks = 1;
  job::WorkerInfo worker;
  std::vector<std::string> notes{};  // what is no error, but may not be meant
};

// Codes: train.no-plan, train.other-model, train.too-many-ranks, train.world-size, train.no-data,
// train.data-kind, train.no-checkpoint, train.other-optimizer, train.nothing-to-do,
// train.checkpoint-folder, train.other-run, train.other-precision, train.metrics, output.path,
// train.tensorboard, train.too-many-processes, train.too-many-threads, train.no-worker,
// train.worker-broken, train.worker-build, train.no-gpu, train.no-backend, and those of plans,
// token files and checkpoints.
TrainSetup set_up(const TrainRequest& request);
// Its first part alone: the plan that the request names.
ResolvedPlan resolve_plan(const TrainRequest& request);

// The highest rank that a placement names, and one.
int ranks_of(const plan::Placement& placement);

// Under a launcher its own rank, else all of them.
std::vector<int> ranks_to_start(const TrainRequest& request, int num_ranks);
// How ranks talk where nobody says: what suits the device and the worker.
std::string default_comm(const std::string& device, const job::WorkerInfo& worker, int num_ranks,
                         bool launched);

// The processes of these ranks, which all read `job_file`.
std::vector<launch::RankSpec> rank_specs(const TrainRequest& request, const std::vector<int>& ranks,
                                         int num_ranks, const std::string& job_file);

// What ended a rank of this host, in its own words.
Error error_of_rank(int rank, const std::string& code, const std::string& message,
                    const std::string& hint, bool input_error);
Error error_of_rank(const launch::Failure& failure);

// What `nereus-worker --version` says. Throws Errors where it is not there or does not say it.
job::WorkerInfo ask_worker(const std::string& path);

}  // namespace nereus::app
