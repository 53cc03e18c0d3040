// The best pipelines for any number of machines, as needed with spot machines: the number
// need not be divisible by anything.
//
//   SpotResult r = search({model, cluster, basis, 8192, precision, jitter});
//   r.plans[0].seconds_per_sample();
//   varuna_rule(problem);                 // what Varuna would choose, simulated alike
//
// The search tries every depth p up to the number of blocks (stages are balanced by time, so p need
// not divide the number of blocks). d = floor(machines / p) replicas, or a half, a quarter, ... of
// them, share the batch of B samples in U = ceil(B / m) micro-batches of m. Some replicas have
// ceil(U / d) micro-batches, the others one less, so that every sample is trained once and no
// replica waits for another by more than one micro-batch. A step takes as long as the fullest
// replicas:
//   step(B) = step of the regular plan with d m ceil(U / d) samples
// because the reduction waits for the last one. The other replicas reach the reduction earlier and
// may overlap a part of it, which this formula ignores: in one of 100 random cases it is 2 % off
// the general predictor's step for the same placement. m takes every value that matters: for every
// k, the least m with k micro-batches. Recompute (none, selective, full), ZeRO (0, 1) and schedule
// (1F1B; Varuna's with full recompute) are searched. Depths whose bound
// (predict/predictor_bound.cpp) is above the best few are pruned. The best few by the closed form
// are then simulated with jitter (simulate/step.hpp), and ranked by their simulated time.
//
// Varuna's rule (its released configure.py; EuroSys 2022): p is a proper divisor of the number of
// blocks, m is the largest that fits, with full recompute and d = floor(machines / p). Varuna gives
// each replica floor(B / d) samples, so up to d - 1 samples of a batch are not trained. Here each
// replica has up to ceil(B / d) samples, so that both strategies do the same work.
//
// Idle machines: machines - p d < p, or more if fewer replicas are faster. Pipelines of different
// depths at the same time, which could use the idle machines, are not searched.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "predict/predictor.hpp"
#include "simulate/pipeline/jitter.hpp"

namespace nereus::elastic {

struct SpotProblem {
  const model::Model& model;
  const cluster::Cluster& cluster;  // uniform
  const cost::Basis& basis;
  int global_batch = 1;
  cluster::Precision precision = cluster::Precision::kBf16;
  simulate::Jitter jitter = {};
  int steps = 1;   // number of simulated steps per plan
  int played = 4;  // how many of the best plans are simulated
  // Without ZeRO: every replica holds the whole state of its stages, so that copies survive a loss.
  bool whole_state = false;
  bool varuna_schedule = true;  // false: only 1F1B, for which uneven plans can be written and run
};

struct SpotPlan {
  plan::Degrees degrees;   // as if all replicas were as full as the fullest
  int short_replicas = 0;  // number of replicas that run one micro-batch less
  int idle = 0;            // number of devices
  int samples = 0;         // samples per step
  cost::Prediction prediction;
  double simulated = 0;  // seconds per step, with jitter
  double seconds_per_sample() const { return simulated / samples; }
};

struct SpotResult {
  std::vector<SpotPlan> plans;  // best first, by simulated time; empty if no plan fits
  std::int64_t evaluated = 0;
  std::int64_t pruned = 0;  // layouts, or schedules of a layout, that a bound pruned
};

SpotResult search(const SpotProblem& problem);

std::optional<SpotPlan> varuna_rule(const SpotProblem& problem);

}  // namespace nereus::elastic
