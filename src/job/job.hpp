// The instructions for a worker: a plan, the training data, and the settings. launch/ writes them
// as one JSON file (job_to_json), and every rank reads it; the worker needs nothing else.
//
//   {"schema_version": 1, "build": "0.1.0 <commit>", "training": {..}, "data": {..},
//    "checkpoint": {..}, "machine": {..}, "output": {..}, "measuring": {..}, "sharing": {..},
//    "plan": {..}}
//
// Keys are the fields below; missing keys have their defaults. A job that was written reads back
// equal.
//
//   save_job(path, job);
//   Job job = load_job(path);              // throws Errors with all errors
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "job/measuring.hpp"
#include "plan/placement.hpp"

namespace nereus::job {

inline constexpr int kJobSchemaVersion = 1;

enum class OptimizerKind { kAdamW, kSgd };
enum class RateSchedule { kConstant, kLinear, kCosine };  // after the warm-up, down to `last_rate`
enum class NormScope { kGroup, kSync };                   // what BatchNorm normalizes over

struct Training {
  std::int64_t steps = 1;
  std::uint64_t seed = 0;

  OptimizerKind optimizer = OptimizerKind::kAdamW;
  double rate = 3e-4;  // learning rate after the warm-up
  double last_rate = 0;
  RateSchedule rate_schedule = RateSchedule::kConstant;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;  // step at which last_rate is reached; 0 = the last step
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double momentum = 0;      // SGD
  double weight_decay = 0;  // of matrices only; vectors (norms, biases) have none
  double clip = 0;          // largest norm of the whole gradient; 0 = no limit

  double dropout = 0;  // masks depend only on (seed, step, sample, layer)
  NormScope norm = NormScope::kGroup;
  int norm_group = 0;  // samples per group of BatchNorm; 0 = the micro-batch
  bool operator==(const Training&) const = default;
};

struct Data {
  enum class Kind { kSynthetic, kTokens, kImages, kTensors };
  Kind kind = Kind::kSynthetic;
  std::string path = {};  // token file, folder of images, or safetensors of inputs and targets
  bool shuffle = true;
  int workers = 1;     // threads that prepare samples
  int prefetch = 2;    // micro-batches ahead
  bool pinned = true;  // images for a GPU are prepared in pinned memory
  bool operator==(const Data&) const = default;
};

struct Checkpoint {
  std::string folder = {};  // destination; empty = none
  std::int64_t every = 0;   // steps; 0 = only at the end
  int keep = 2;             // complete checkpoints that stay
  std::string resume = {};  // a checkpoint, or a folder of them; empty = a new start
  bool operator==(const Checkpoint&) const = default;
};

inline constexpr const char* kDevices[] = {"cpu", "cuda"};
inline constexpr const char* kComms[] = {"gloo", "nccl", "shared"};

struct Machine {
  std::string device = "cpu";  // or "cuda"
  std::string comm = "gloo";   // or "nccl", "shared"
  int threads = 1;             // for computation, per rank
  bool pin = false;            // rank i of a host to core i
  double timeout_s = 60;       // for any single wait for another rank
  bool graphs = true;          // use CUDA graphs if the plan allows them
  bool deterministic = false;  // only kernels that give the same bits every time
  // Limit of GPU memory per rank: "40 GiB,10 GiB", one value per rank or one for all; empty = none
  std::string memory_limits = {};
  bool operator==(const Machine&) const = default;
};

// A device that a foreground and a background job use in turns (job/gate.hpp).
struct Sharing {
  std::string gates =
      {};  // folder of the gate files gate-0, gate-1, .. (one per device); empty = not shared
  int num_gates = 1;   // rank i of a host uses gate i modulo this
  bool waits = false;  // true: this job is the background; false: the foreground
  double gap_s = 0;    // added to each step as time of waiting for others (for experiments)
  bool operator==(const Sharing&) const = default;
};

struct Output {
  // Folder for the timelines of all ranks, as rank-R.json (timeline/rank_timeline.hpp); empty =
  // none
  std::string timeline = {};
  std::int64_t timeline_steps = 3;  // record this many steps at the end of the job
  std::string gradients = {};       // folder for the gradients of the first step, for tests
  bool operator==(const Output&) const = default;
};

struct Job {
  // build_id() of the program that wrote it; a worker of another build rejects it.
  std::string build;
  plan::Plan plan;
  Training training{};
  Data data{};
  Checkpoint checkpoint{};
  Machine machine{};
  Output output{};
  Measuring measuring{};
  Sharing sharing{};
  bool operator==(const Job&) const = default;
};

// The gate of a rank, by its number on its host; empty = none.
std::string gate_file(const Sharing& sharing, int local_rank);

// The memory limit of the rank in bytes, 0 = none. Throws Errors if the text is invalid, or has
// values for too few ranks.
double memory_limit(const Machine& machine, int rank, int num_ranks);

std::string_view to_string(OptimizerKind kind);     // "adamw"
std::string_view to_string(RateSchedule schedule);  // "cosine"
std::string_view to_string(NormScope norm);         // "group"
std::string_view to_string(Data::Kind kind);        // "tokens"

std::string job_to_json(const Job& job);
// Checks syntax, keys, types and ranges; throws Errors.
Job parse_job(std::string_view text, const std::string& file);
// Also checks the job's plan (plan/check.hpp).
Job load_job(const std::string& path);
void save_job(const std::string& path, const Job& job);

}  // namespace nereus::job
