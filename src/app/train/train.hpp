// `nereus train`: runs a plan on real ranks, from names and files to losses.
//
//   TrainAnswer a = train({.plan = {.model = {"gpt2"}, .degrees = {.dp = 2}}, ...}, watch);
//   a.losses.back(); a.step_s; a.failure;
//
// Everything that can be checked is checked before anything starts, and all errors are thrown at
// once (Errors): inputs, the number of ranks, missing data and checkpoints, a worker that is
// missing or from another build. Then one worker process per rank is started (launch/supervise.hpp)
// and gets a job (job/job.hpp). Under a launcher (torchrun, mpirun, srun), each call starts only
// the worker of its rank, and rank 0 returns the job's answer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/predict/predict_plan.hpp"
#include "base/error.hpp"
#include "job/job.hpp"
#include "job/message.hpp"
#include "launch/background/outcome.hpp"

namespace nereus::app {

// The rank of this process, according to a launcher.
struct LaunchedRank {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::string master_address;
  int master_port = 0;
  std::string launcher;  // "torchrun", "mpirun", "srun"
  bool operator==(const LaunchedRank&) const = default;
};

// A job that uses the idle time of another job (app/train/train_background.hpp).
struct BackgroundRequest {
  std::string plan_file{};
  std::string data = "synthetic";
  std::int64_t steps = 0;  // 0: until the foreground ends
  std::uint64_t seed = 0;
  double rate = job::Training{}.rate;
  int norm_group = 0;
  int threads = 0;  // per rank; 0: cores / ranks
  job::Checkpoint checkpoint{};
};

struct TrainRequest {
  PredictRequest plan;  // a plan file, or model, cluster and degrees; no cluster: this machine
  job::Training training{};
  std::string data{};   // a token file, a folder of images, or "synthetic"
  job::Data loading{};  // how it is read: order, threads, prefetch
  job::Checkpoint checkpoint{};
  // Ranks on machines that come and go; the job continues from its checkpoints automatically.
  bool elastic = false;
  job::Machine machine{};      // no comm: what suits device and ranks; no threads: cores / ranks
  std::string metrics_file{};  // JSONL, one object per step; this and the next paths: empty = none
  std::string tensorboard{};   // folder
  std::string timeline_file{};
  std::string record_file{};
  std::vector<std::string> output_files{};  // that the caller writes at the end
  bool compare = false;
  std::string worker{};  // path of nereus-worker
  std::optional<LaunchedRank> launched{};
  std::vector<BackgroundRequest> background{};  // a queue, run one after the other
  double slowdown = 0.05;                       // promised limit for the foreground's step
  double background_memory = 0;  // bytes for all ranks of a job; 0: what the foreground leaves
  // True: background jobs run only while the machine has nothing else to run. False: they are
  // limited only by their share of the time.
  bool background_idle = true;
  // True: background jobs take turns with the foreground, piece by piece (job/gate.hpp). False:
  // they are stopped and woken. Empty: what suits the device.
  std::optional<bool> background_turns{};
};

// One step, over all ranks of this launcher.
struct TrainStep {
  std::int64_t step = 0;
  double loss = 0;
  std::optional<double> gradient_norm;  // if --clip needs it
  double rate = 0;                      // learning rate
  double seconds = 0;                   // of the slowest rank
  std::int64_t tokens = 0;              // or samples, of the whole job
  double memory_bytes = 0;              // of the fullest rank
  job::Waits waits{};                   // mean over ranks
  std::optional<double> mfu{};
  bool operator==(const TrainStep&) const = default;
};

// A change of ranks and plan in an elastic job.
struct Morph {
  std::int64_t generation = 0;
  int num_ranks = 0;
  // Bytes of state that ranks already had; this and the next two are sums over all ranks.
  double own_bytes = 0;
  double peer_bytes = 0;        // from other ranks' memory
  double saved_bytes = 0;       // from a checkpoint
  double seconds = 0;           // from the first sign of a change to the next step
  std::int64_t lost_steps = 0;  // steps that were done twice
};

struct TrainEvent {
  std::string kind;        // "checkpoint", "resumed", "asked to end", "preempted", "failure"
  std::int64_t step = -1;  // the last step that was done
  int rank = -1;
  std::string text;
  std::optional<Morph> morph{};
};

// Announces what is about to start.
struct TrainBegin {
  std::string model;
  int num_ranks = 1;
  std::string library;
  bool counts_tokens = true;
  bool speaks = true;
};

struct TrainWatch {
  std::function<void(const TrainBegin&)> begin{};
  std::function<void(const TrainStep&)> step{};
  std::function<void(int rank, std::string_view line)> text{};  // output of a worker
  std::function<void(const std::string& line)> say{};           // events in words
};

// A part of the step, as predicted and as measured.
struct ComparedPart {
  std::string name;
  double predicted = 0;  // seconds
  double measured = 0;
};

struct TrainAnswer {
  std::vector<TrainStep> steps;
  double step_s = 0;  // median of the measured steps
  double rate = 0;    // tokens (or samples) per second, at step_s
  bool counts_tokens = true;
  job::Waits waits{};  // mean over the measured steps
  std::vector<TrainEvent> events;
  std::string library;  // the library of the workers
  ResolvedPlan plan;
  int num_ranks = 0;
  bool nominal = false;  // this machine's rates, and so the predictions, are assumptions
  std::optional<cost::Prediction> predicted;
  std::optional<Error> failure;  // what ended the job, and on which rank
  std::vector<Error> more;       // other errors on this rank
  int exit_code = 0;             // 0, 2, 5, 10, 75
  bool speaks = true;  // this call reports for the whole job: rank 0, or all ranks of one machine
  std::optional<launch::BackgroundOutcome> background{};
};

// Throws Errors with all errors of the request.
TrainAnswer train(const TrainRequest& request, const TrainWatch& watch);

// If there are more than two steps, the first one is the warm-up and does not count as measured.
double median_step(const std::vector<TrainStep>& steps);
job::Waits mean_waits(const std::vector<TrainStep>& steps);
// Empty if nothing was predicted or measured.
std::vector<ComparedPart> compare(const TrainAnswer& answer);

}  // namespace nereus::app
