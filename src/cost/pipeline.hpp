// The pipeline in closed form: how long its stages take together, what passes between them, and how
// many micro-batches of activations a stage holds.
//
// Stage i needs T_i for one micro-batch (forward and backward) and W_i for all m of them. GPipe
// (Huang 2019) and 1F1B (Narayanan 2019) both fill and drain once:
//   time   = max_i (W_i - T_i / v) + sum_i T_i / v
// with v virtual stages a rank, which fill in pieces of 1/v (interleaved 1F1B, Narayanan 2021).
// Equal stages: m T + (p - 1) T / v, the known bubble (p - 1) / (v m). The stage that decides keeps
// its whole work; what the others add is the bubble. First and last stage (embedding, head) just
// have their own T_i.
//
// Transfers. Every tensor rank holds the whole activation: each sends its share and the receivers
// gather it (Narayanan 2021, scatter/gather); sequence parallelism has divided it already. The
// first micro-batch crosses every boundary twice with nothing to hide behind; in the steady state
// each further one waits for one transfer each way per virtual stage, less what the stack overlaps.
// A stack whose sends stall on very large jobs adds that stall to each send and receive.
//
// Activations in flight on stage i of p: GPipe m; 1F1B min(m, p - i); interleaved
// min(m, (2 (p - i - 1) + (v - 1) p + 1) / v), which on stage 0 is p (1 + (p - 1) / (p v)).
//
// Monotone in every T_i and W_i: each appears with a weight of at least 0 in the sum and the max.
//
//   PipelineTime time = pipeline_time(stages, interleave);  // stages[i] = {T_i, W_i}
//   in_flight({Schedule::k1f1b, 8, 1}, 0, 32);              // 8 micro-batches on the first stage
#pragma once

#include <span>

#include "cost/machine.hpp"
#include "plan/degrees.hpp"

namespace nereus::cost {

// Schedules whose time and memory the formulas above give; the others need the simulator.
bool has_closed_form(plan::Schedule schedule);

struct PipelineShape {
  plan::Schedule schedule = plan::Schedule::k1f1b;
  int depth = 1;          // pipeline ranks
  double interleave = 1;  // virtual stages a rank
};

// Micro-batches' worth of a stage's activations at its peak.
double in_flight(const PipelineShape& shape, int stage, double num_micro_batches);

// `count` equal stages.
struct StagePace {
  double one = 0;  // seconds of one micro-batch
  double all = 0;  // seconds of all its micro-batches
  int count = 1;
};

struct PipelineTime {
  int slowest = 0;    // index of the stage that decides
  double bubble = 0;  // what the others add to its work
};

PipelineTime pipeline_time(std::span<const StagePace> stages, double interleave);

// One activation from stage to stage. `message` are the bytes that each tensor rank holds of it,
// `copies` how many of those ranks hold the same.
double transfer_seconds(const Fabric& fabric, bool same_domain, double message, const Wire& copies,
                        double host_seconds);

struct TransferLoad {
  double steady = 0;  // seconds one way at the busiest boundary, for all but the first micro-batch
  double crossings = 0;  // seconds over all boundaries, once each
  double num_micro_batches = 1;
  int num_ranks = 1;        // of the whole job
  int tp = 1;               // the widest
  double memory_share = 0;  // of the fullest rank
};
double transfers_seconds(const TransferLoad& load, const PipelineShape& shape,
                         const Parameters& parameters);

}  // namespace nereus::cost
