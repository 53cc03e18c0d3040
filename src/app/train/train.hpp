// `nereus train`: runs a plan on real ranks, from names and files to losses.
//
//   TrainAnswer a = train({.plan = {.model = {"gpt2"}, .degrees = {.dp = 2}}, ...}, watch);
//   a.losses.back(); a.step_s; a.failure;
//
// Everything that can be known to be wrong is said before anything starts, all at once (Errors):
// inputs, the number of ranks, data and checkpoints that are not there, a worker that is not built
// or of another build. Then one worker process a rank is started (launch/supervise.hpp) and handed
// a job (job/job.hpp). Under a launcher (torchrun, mpirun, srun) each call starts the worker of its
// own rank alone, and rank 0's answer is the job's.
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

// What a launcher says of the rank that this process is to be.
struct LaunchedRank {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::string master_address;
  int master_port = 0;
  std::string launcher;  // "torchrun", "mpirun", "srun"
  bool operator==(const LaunchedRank&) const = default;
};

// A job that runs beside another, in what that leaves (app/train/train_background.hpp).
struct BackgroundRequest {
  std::string plan_file{};
  std::string data = "synthetic";
  std::int64_t steps = 0;  // 0: until the foreground ends
  std::uint64_t seed = 0;
  double rate = job::Training{}.rate;
  int norm_group = 0;
  int threads = 0;  // a rank; 0: cores / ranks
  job::Checkpoint checkpoint{};
};

struct TrainRequest {
  PredictRequest plan;  // a plan file, or model, cluster and degrees; no cluster: this machine
  job::Training training{};
  std::string data{};   // a token file, a folder of images, or "synthetic"
  job::Data loading{};  // how it is read: order, threads, how far ahead
  job::Checkpoint checkpoint{};
  // Ranks on machines that come and go, and from its checkpoints it goes on by itself.
  bool elastic = false;
  job::Machine machine{};      // no comm: what suits device and ranks; no threads: cores / ranks
  std::string metrics_file{};  // JSONL, an object a step; empty: none. So the others
  std::string tensorboard{};   // folder
  std::string timeline_file{};
  std::string record_file{};
  std::vector<std::string> output_files{};  // that the caller writes at the end
  bool compare = false;
  std::string worker{};  // path of nereus-worker
  std::optional<LaunchedRank> launched{};
  std::vector<BackgroundRequest> background{};  // one after the other
  double slowdown = 0.05;                       // of the foreground's step, promised
  double background_memory = 0;  // bytes, of all ranks of a job; 0: what the foreground leaves
  // Runs only where nobody on the machine would; else its share of the time is all that holds it.
  bool background_idle = true;
  // It takes turns with the foreground, piece by piece (job/gate.hpp), or is stopped and woken.
  // Nothing: as suits the device.
  std::optional<bool> background_turns{};
};

// One step as all ranks of this launcher saw it.
struct TrainStep {
  std::int64_t step = 0;
  double loss = 0;
  std::optional<double> gradient_norm;  // where --clip has it computed
  double rate = 0;                      // of learning
  double seconds = 0;                   // the slowest rank's
  std::int64_t tokens = 0;              // or samples, of the whole job
  double memory_bytes = 0;              // of the fullest rank
  job::Waits waits{};                   // mean of the ranks
  std::optional<double> mfu{};
  bool operator==(const TrainStep&) const = default;
};

// A change of ranks and plan in an elastic job.
struct Morph {
  std::int64_t generation = 0;
  int num_ranks = 0;
  double own_bytes = 0;    // of state that ranks had already, all ranks together; so the next two
  double peer_bytes = 0;   // from other ranks' memory
  double saved_bytes = 0;  // from a checkpoint
  double seconds = 0;      // from the first sign that ranks changed to the next step
  std::int64_t lost_steps = 0;  // done before and done again
};

struct TrainEvent {
  std::string kind;        // "checkpoint", "resumed", "asked to end", "preempted", "failure"
  std::int64_t step = -1;  // the last that was done
  int rank = -1;
  std::string text;
  std::optional<Morph> morph{};
};

// What is about to start.
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
  std::function<void(int rank, std::string_view line)> text{};  // what a worker printed
  std::function<void(const std::string& line)> say{};           // what happens
};

// A part of the step: what was predicted of it and what was measured.
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
  job::Waits waits{};  // mean of the measured steps
  std::vector<TrainEvent> events;
  std::string library;  // what the workers run on
  ResolvedPlan plan;
  int num_ranks = 0;
  bool nominal = false;  // this machine's rates are assumed, so is what is predicted
  std::optional<cost::Prediction> predicted;
  std::optional<Error> failure;  // what ended the job, and which rank
  std::vector<Error> more;       // else that this rank found wrong
  int exit_code = 0;             // 0, 2, 5, 10, 75
  bool speaks = true;            // for the whole job: rank 0, or all ranks of one machine
  std::optional<launch::BackgroundOutcome> background{};
};

// Throws Errors with all that is wrong with the request.
TrainAnswer train(const TrainRequest& request, const TrainWatch& watch);

// Measured steps: all but the first, which is also the warm-up, where there are more than two.
double median_step(const std::vector<TrainStep>& steps);
job::Waits mean_waits(const std::vector<TrainStep>& steps);
// Empty where nothing was predicted or measured.
std::vector<ComparedPart> compare(const TrainAnswer& answer);

}  // namespace nereus::app
