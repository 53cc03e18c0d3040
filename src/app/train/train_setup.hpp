// What `nereus train` does before anything starts: it resolves the plan, and reports all errors at
// once.
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
  std::vector<std::string> notes{};  // warnings about things that may not be intended
};

// Codes: train.no-plan, train.other-model, train.too-many-ranks, train.world-size, train.no-data,
// train.data-kind, train.no-checkpoint, train.other-optimizer, train.nothing-to-do,
// train.checkpoint-folder, train.other-run, train.other-precision, train.metrics, output.path,
// train.tensorboard, train.too-many-processes, train.too-many-threads, train.no-worker,
// train.worker-broken, train.worker-build, train.no-gpu, train.no-backend, and those of plans,
// token files and checkpoints.
TrainSetup set_up(const TrainRequest& request);
// Only the first part: the plan of the request.
ResolvedPlan resolve_plan(const TrainRequest& request);

// The highest rank in a placement, plus one.
int ranks_of(const plan::Placement& placement);

// Under a launcher the rank of this process, else all ranks.
std::vector<int> ranks_to_start(const TrainRequest& request, int num_ranks);
// How ranks communicate by default: what suits the device and the worker.
std::string default_comm(const std::string& device, const job::WorkerInfo& worker, int num_ranks,
                         bool launched);

// The processes of these ranks, which all read `job_file`.
std::vector<launch::RankSpec> rank_specs(const TrainRequest& request, const std::vector<int>& ranks,
                                         int num_ranks, const std::string& job_file);

// The error that ended a rank of this host, in the rank's words.
Error error_of_rank(int rank, const std::string& code, const std::string& message,
                    const std::string& hint, bool input_error);
Error error_of_rank(const launch::Failure& failure);

// Reads the output of `nereus-worker --version`. Throws Errors if the worker is missing or its
// output is wrong.
job::WorkerInfo ask_worker(const std::string& path);

}  // namespace nereus::app
