// The pipeline in closed form: the combined time of its stages, the messages between them, and how
// many micro-batches of activations a stage holds.
//
// Stage i needs T_i = F_i + B_i + W_i for one micro-batch (forward, backward for the previous
// stage, gradient of its weights) and A_i for all m micro-batches. The pipeline fills and drains
// once:
//   time   = max(max_i A_i,  sum_i x_i + max_i (A_i - x_i - c (n - 1) W_i))
// with n stages; x_i is the part of T_i that the other stages wait for:
//
//   schedule                        x_i                 c     equal stages: bubble
//   GPipe, 1F1B                     T                   0     (p - 1) T
//   interleaved, looped BFS         T / v               0     (p - 1) T / v
//   ZB-H1                           F + B               1     (p - 1) (F + B - W)
//   ZB-H2                           F + B               2     (p - 1) (F + B - 2 W), 0 if F = B = W
//   ZB-V                            (F + B) / 2         1     0 if F = B = W
//   DualPipe, pairs of stages       F / 2 + B           1/2   (p / 2 - 1) (F + 2 B - W) per stage
//   Varuna                          T - R               -     (p - 1) (T - R) - R
//
// (Huang 2019; Narayanan 2019, 2021; Lamy-Poirier 2023; Qi 2023, 2024; DeepSeek-AI 2024, where the
// paired forward and backward pass takes F + B + W.) Zero-bubble schedules run weight gradients
// while other stages wait. No formula for ZB-V is known except for F = B = W, so half of ZB-H2's
// bubble is assumed, because each rank holds two stages of half the size. A rank of DualPipe holds
// stages i and p - 1 - i, and runs half of the micro-batches through each, so n is the number of
// pairs, p / 2.
//
// Under Varuna, every stage but the last spends R of its T on recompute, concurrently with the next
// stage's backward pass. So the other stages wait for T - R. The stage with the maximum (the
// deciding stage) overlaps its first R with the wait for its first gradient, so it adds A_i - T_i
// instead of A_i - x_i. The simulated step (simulate/pipeline/varuna.hpp) is never longer than this
// formula with equal stages, B + W = 2 F and R = F: it is as long, or up to two forward passes
// shorter. Over 3,000 cases with up to 12 stages that differ by up to a half and with any B and R,
// the simulated step is 0 to 17 % shorter (median 5 %). With the number of micro-batches in flight
// limited as below, it is from 2.6 % longer to 18 % shorter. Therefore Varuna plans are simulated
// (predict/played.hpp), and the formula is used only if there are too many passes to simulate.
//
// The deciding stage counts with its whole work; what the others add is the bubble. The first and
// the last stage (embedding, head) have their T_i like all others.
//
// GPipe and looped BFS run all forward passes before the backward passes, and each phase has its
// own slowest stage: the first phase has a third of A - x and the messages of one direction, the
// second phase the rest.
//
// Transfers. Every tensor rank holds the whole activation: each sends its share, and the receivers
// gather it (Narayanan 2021, scatter/gather). With sequence parallelism the activation is already
// divided. The first micro-batch crosses every boundary twice without overlap. In addition, an
// exchange after each pass blocks the rank, less what the stack overlaps: S_i = (2 v m - 1) e,
// where e is the exposed time of one exchange, is added to A_i. This includes the first and the
// last rank, which exchange with only one neighbor: measured runs with two and four stages show it
// (docs/method-pipeline.md). In ZB-V and DualPipe each rank sends the messages of all its stages.
// DualPipe sends in both directions at once, so half of the time counts. Varuna sends concurrently
// with its passes: a message blocks the stage only for the time by which it exceeds the stage's
// micro-batch. If a stack's sends stall on very large jobs, that stall is added to each send and
// receive.
//
// Activations in flight on stage i of p: GPipe and looped BFS m; 1F1B min(m, p - i); interleaved
// min(m, (2 (p - i - 1) + (v - 1) p + 1) / v), which on stage 0 is p (1 + (p - 1) / (p v)); ZB-H1
// and ZB-V p, ZB-H2 2 p on every stage (delayed weight gradients keep their inputs); DualPipe p + 1
// over both streams, so (p + 1) / 2 for a pair; Varuna min(m, 3 (p - 1 - i)), 1 on the last stage.
// Under Varuna, all but one of these micro-batches keep only the input of recompute.
//
// Monotone in every F_i, B_i, W_i, R_i and A_i if m >= c (n - 1), which plan/rules.hpp requires:
// each of them then has a non-negative weight in the sum and the max.
//
//   PipelineTime time = pipeline_time(stages, shape);       // stages[i] = {T_i, A_i}
//   in_flight({Schedule::k1f1b, 8, 1}, 0, 32);              // 8 micro-batches on the first stage
#pragma once

#include <span>

#include "cost/machine_rates.hpp"
#include "plan/degrees.hpp"

namespace nereus::cost {

// Whether weight gradients run separately from the rest of the backward pass.
bool splits_backward(plan::Schedule schedule);

struct PipelineShape {
  plan::Schedule schedule = plan::Schedule::k1f1b;
  int depth = 1;          // pipeline ranks; DualPipe: pairs of them
  double interleave = 1;  // virtual stages per rank
};

// The peak number of micro-batches whose activations a stage holds.
double in_flight(const PipelineShape& shape, int stage, double num_micro_batches);

// The times of `count` equal stages.
struct StagePace {
  double one = 0;  // seconds per micro-batch
  double all = 0;  // seconds of all its micro-batches
  int count = 1;
  // Seconds of one micro-batch without its weight gradients (`passes`), and of the backward pass
  // only (`backward`). Only used if the schedule splits the backward pass. Under Varuna: `passes`
  // is forward and backward without recompute, and `backward` is `passes` without the time of
  // copies to and from an offload tier.
  double passes = 0;
  double backward = 0;
  // Seconds of the step in which messages block the stage, except those of the first micro-batch:
  // messages of activations, of gradients, and of both. Each is the maximum over the `count`
  // stages, so the last need not be the sum of the others.
  double sends_forward = 0;
  double sends_back = 0;
  double sends = 0;
};

// Messages per rank and micro-batch.
struct SendCount {
  int forward = 0;  // activations
  int back = 0;     // gradients
  int both = 0;     // the maximum over ranks, if this stands for several ranks
};

struct PipelineTime {
  int slowest = 0;    // index of the deciding stage
  double bubble = 0;  // what the other stages add to its work
  double own = 0;     // A - x of that stage
  double sends = 0;   // of that stage
};

PipelineTime pipeline_time(std::span<const StagePace> stages, const PipelineShape& shape);

// Seconds of a stage's micro-batch that the gradient reduction can overlap with. None under a
// zero-bubble schedule, which computes weight gradients last. Under Varuna neither recompute nor
// copies count: recompute comes before the last backward pass, and copies may already overlap with
// recompute, so counting them would overlap the same time twice.
double reduction_window(const StagePace& stage, const PipelineShape& shape);

// Seconds of work that a rank still has, at the end of a step, after its last chunk has finished
// all micro-batches. Gradients of finished chunks can be reduced meanwhile. Interleaved 1F1B
// (Narayanan 2021) passes p micro-batches through one chunk after the other, so (v - 1) / v of p
// micro-batches are left; looped BFS has (v - 1) / v of all m left; other schedules have 0. `own`
// is PipelineTime::own.
double later_chunks(const PipelineShape& shape, double own, double num_micro_batches);

// Time to send one activation to the next stage. Each tensor rank holds `message` bytes of it, and
// `copies` are the ranks that hold the same bytes.
double transfer_seconds(const Fabric& fabric, bool same_domain, double message, const Wire& copies,
                        double host_seconds);

struct TransferLoad {
  double once = 0;       // seconds one way at the busiest boundary
  double crossings = 0;  // seconds of one crossing of every boundary, summed
  double num_micro_batches = 1;
  int num_ranks = 1;        // in the whole job
  int tp = 1;               // the largest of any stage
  double memory_share = 0;  // used share of the fullest rank's memory
};
// Fills in the time that messages cost a stage.
void add_sends(StagePace& stage, const SendCount& count, const TransferLoad& load,
               const PipelineShape& shape, const Parameters& parameters);
// Time that the first micro-batch's messages cost all stages together, and time that all stalls
// cost.
double crossing_seconds(const TransferLoad& load);
double stall_seconds(const TransferLoad& load, const PipelineShape& shape,
                     const Parameters& parameters);

}  // namespace nereus::cost
