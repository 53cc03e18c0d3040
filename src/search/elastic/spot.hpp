// The best pipelines for any number of machines, as spot machines come: no number is turned down
// because it does not divide something.
//
//   SpotResult r = search({model, cluster, basis, 8192, precision, jitter});
//   r.plans[0].seconds_per_sample();
//   varuna_rule(problem);                 // what Varuna would choose, in the same clock
//
// For every depth p up to the number of blocks (stages are balanced by time, so p need not divide
// them) d = floor(machines / p) replicas, or a half, a quarter .. of them, share the batch of B
// samples in micro-batches of m: U = ceil(B / m) of them, ceil(U / d) on some replicas and one less
// on the others, so that every sample is trained once and no replica waits for a whole one. A step
// takes what it takes the fullest replicas:
//   step(B) = step of the regular plan with d m ceil(U / d) samples
// since the reduction waits for the last. Shorter replicas reach it earlier and may hide some of
// theirs: of 100 random cases one is 2 % off the general predictor's step of the same placement.
// m takes every value that matters: the least that makes k micro-batches do, for every k. Recompute
// (none, selective, full), ZeRO (0, 1) and schedule (1F1B; Varuna's with full
// recompute) are searched; depths whose bound (predict/predictor_bound.cpp) is above the best few
// are cut. The best few in closed form are then played with jitter (simulate/step.hpp), and ranked
// by that.
//
// Varuna's rule (its released configure.py; EuroSys 2022): p divides the blocks and is not their
// number, the largest m that fits, full recompute, d = floor(machines / p). It gives each replica
// floor(B / d) samples, so that up to d - 1 of a batch are not trained; here it trains them all,
// ceil(B / d) on a replica, so that both do the same work.
//
// Machines that are left idle: machines - p d < p, or more where fewer replicas are quicker.
// Pipelines of unequal depth side by side, which would take those too, are not searched.
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
  int steps = 1;   // drawn of each that is played
  int played = 4;  // how many of the best are
  // Without ZeRO: every replica holds all of its stages' state, of which copies survive a loss.
  bool whole_state = false;
  bool varuna_schedule = true;  // off: 1F1B alone, of which uneven plans can be written and run
};

struct SpotPlan {
  plan::Degrees degrees;   // of the fullest replicas: all as full as they
  int short_replicas = 0;  // that run one micro-batch less
  int idle = 0;            // devices
  int samples = 0;         // that a step trains
  cost::Prediction prediction;
  double simulated = 0;  // seconds of a step, with jitter
  double seconds_per_sample() const { return simulated / samples; }
};

struct SpotResult {
  std::vector<SpotPlan> plans;  // best first, by the play; empty where nothing fits
  std::int64_t evaluated = 0;
  std::int64_t pruned = 0;  // layouts, or schedules of one, cut by a bound
};

SpotResult search(const SpotProblem& problem);

std::optional<SpotPlan> varuna_rule(const SpotProblem& problem);

}  // namespace nereus::elastic
