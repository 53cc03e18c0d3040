// What a worker is told: a plan, what to train it on, and how. Written by launch/ as one JSON file
// (job_to_json), read by every rank; the worker needs nothing else.
//
//   {"schema_version": 1, "build": "0.1.0 <commit>", "training": {..}, "data": {..},
//    "checkpoint": {..}, "machine": {..}, "output": {..}, "measuring": {..}, "sharing": {..},
//    "plan": {..}}
//
// Keys are the fields below; what is left out is at its default. What is written reads back equal.
//
//   save_job(path, job);
//   Job job = load_job(path);              // throws Errors with all that is wrong
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
enum class NormScope { kGroup, kSync };                   // what BatchNorm normalises over

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
  double weight_decay = 0;  // of matrices; vectors (norms, biases) have none
  double clip = 0;          // largest norm of the whole gradient; 0 = as it comes

  double dropout = 0;  // masks depend on (seed, step, sample, layer) alone
  NormScope norm = NormScope::kGroup;
  int norm_group = 0;  // samples BatchNorm normalises over; 0 = the micro-batch
  bool operator==(const Training&) const = default;
};

struct Data {
  enum class Kind { kSynthetic, kTokens, kImages, kTensors };
  Kind kind = Kind::kSynthetic;
  std::string path = {};  // token file, folder of images, or safetensors of inputs and targets
  bool shuffle = true;
  int workers = 1;     // threads that prepare samples
  int prefetch = 2;    // micro-batches ahead
  bool pinned = true;  // pictures for a GPU wait in memory it copies from by itself
  bool operator==(const Data&) const = default;
};

struct Checkpoint {
  std::string folder = {};  // where to write; empty = nowhere
  std::int64_t every = 0;   // steps; 0 = at the end only
  int keep = 2;             // complete ones that stay
  std::string resume = {};  // a checkpoint, or a folder of them; empty = start afresh
  bool operator==(const Checkpoint&) const = default;
};

inline constexpr const char* kDevices[] = {"cpu", "cuda"};
inline constexpr const char* kComms[] = {"gloo", "nccl", "shared"};

struct Machine {
  std::string device = "cpu";  // or "cuda"
  std::string comm = "gloo";   // or "nccl", "shared"
  int threads = 1;             // of computation, a rank
  bool pin = false;            // rank i of a host to core i
  double timeout_s = 60;       // of any one wait for another rank
  bool graphs = true;          // CUDA graphs where the plan allows them
  bool deterministic = false;  // only kernels that give the same bits every time
  // Of a GPU's memory a rank may take: "40 GiB,10 GiB", one a rank, or one for all; empty = all
  std::string memory_limits = {};
  bool operator==(const Machine&) const = default;
};

// A device that a foreground and a background job take turns on (job/gate.hpp).
struct Sharing {
  std::string gates =
      {};              // folder of gate-0, gate-1, ..: one a device; empty = it is the job's own
  int num_gates = 1;   // rank i of a host has number i modulo this
  bool waits = false;  // for its turn: the background; else it is the one who opens
  double gap_s = 0;    // of every step, spent waiting for others that there are none of (trials)
  bool operator==(const Sharing&) const = default;
};

struct Output {
  // Folder for each rank's timeline, as rank-R.json (timeline/rank_timeline.hpp); empty = none
  std::string timeline = {};
  std::int64_t timeline_steps = 3;  // the last so many steps
  std::string gradients = {};       // folder: gradients of the first step, for tests
  bool operator==(const Output&) const = default;
};

struct Job {
  std::string build;  // build_id() of the program that wrote it; a worker of another one refuses
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

// Of a rank by its number on its host; empty = none.
std::string gate_file(const Sharing& sharing, int local_rank);

// What the rank may take in bytes, 0 = all. Throws Errors where the text is none, or of too few
// ranks.
double memory_limit(const Machine& machine, int rank, int num_ranks);

std::string_view to_string(OptimizerKind kind);     // "adamw"
std::string_view to_string(RateSchedule schedule);  // "cosine"
std::string_view to_string(NormScope norm);         // "group"
std::string_view to_string(Data::Kind kind);        // "tokens"

std::string job_to_json(const Job& job);
// Syntax, keys, types and ranges; throws Errors.
Job parse_job(std::string_view text, const std::string& file);
// And its plan checked (plan/check.hpp).
Job load_job(const std::string& path);
void save_job(const std::string& path, const Job& job);

}  // namespace nereus::job
