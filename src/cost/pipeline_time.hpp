// The pipeline in closed form: how long its stages take together, what passes between them, and how
// many micro-batches of activations a stage holds.
//
// Stage i needs T_i = F_i + B_i + W_i for one micro-batch (forward, backward for the stage before,
// gradient of its own weights) and A_i for all m of them. The pipeline fills and drains once:
//   time   = max(max_i A_i,  sum_i x_i + max_i (A_i - x_i - c (n - 1) W_i))
// with n stages and x_i the part of T_i that the others wait for:
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
// paired forward and backward pass takes F + B + W.) Zero-bubble schedules put their weight
// gradients where others wait. For ZB-V no formula is known away from F = B = W: half of ZB-H2's
// stands for it, as each of its two passes fills with half a stage. A rank of DualPipe holds stage
// i and p - 1 - i, and runs half of the micro-batches through each: its n = p / 2 pairs count here.
// Varuna recomputes R of T on every stage but the last, beside the next stage's backward pass: the
// others wait for T - R, and the stage that decides hides its first R behind the wait for its first
// gradient, so it adds A_i - T_i. As its workers play it (simulate/pipeline/varuna.hpp) a step is
// no longer: as long, or up to two forward passes shorter, on equal stages with B + W = 2 F, R = F;
// 0 to 17 % shorter, 5 % in the middle, over 3,000 cases of up to 12 stages that differ by a half
// and have any B and R. With no more in flight than below: from 2.6 % longer to 18 % shorter. So a
// plan's passes are always played (predict/played.hpp), and this stands for those that are too
// many.
//
// The stage that decides keeps its whole work; what the others add is the bubble. First and last
// stage (embedding, head) just have their own T_i.
//
// GPipe and looped BFS run all forward passes before the backward ones, and each phase has its own
// slowest stage, a third of A - x and the messages of one way in the first, the rest in the second.
//
// Transfers. Every tensor rank holds the whole activation: each sends its share and the receivers
// gather it (Narayanan 2021, scatter/gather); sequence parallelism has divided it already. The
// first micro-batch crosses every boundary twice with nothing to hide behind. And for every
// micro-batch a rank is held up by an exchange after each pass, less what the stack overlaps: S_i =
// (2 v m - 1) c, which is added to A_i. So are the first and the last rank, which exchange with one
// neighbour alone: measured runs with two and four stages say so (docs/method-pipeline.md). In ZB-V
// and DualPipe each rank sends what its stages have to; DualPipe sends both ways at once, so half
// counts. Varuna sends beside its passes: only messages that take longer than a stage hold it up.
// A stack whose sends stall on very large jobs adds that stall to each send and receive.
//
// Activations in flight on stage i of p: GPipe and looped BFS m; 1F1B min(m, p - i); interleaved
// min(m, (2 (p - i - 1) + (v - 1) p + 1) / v), which on stage 0 is p (1 + (p - 1) / (p v)); ZB-H1
// and ZB-V p, ZB-H2 2 p on every stage (delayed weight gradients keep their inputs); DualPipe
// p + 1 over both streams, so (p + 1) / 2 of a pair's; Varuna min(m, 3 (p - 1 - i)), 1 on the last
// stage. All but one of Varuna's hold only what recompute starts from.
//
// Monotone in every F_i, B_i, W_i, R_i and A_i as long as m >= c (n - 1), which plan/rules.hpp asks
// for: each then appears with a weight of at least 0 in the sum and the max.
//
//   PipelineTime time = pipeline_time(stages, shape);       // stages[i] = {T_i, A_i}
//   in_flight({Schedule::k1f1b, 8, 1}, 0, 32);              // 8 micro-batches on the first stage
#pragma once

#include <span>

#include "cost/machine_rates.hpp"
#include "plan/degrees.hpp"

namespace nereus::cost {

// Whether weight gradients run apart from the rest of the backward pass.
bool splits_backward(plan::Schedule schedule);

struct PipelineShape {
  plan::Schedule schedule = plan::Schedule::k1f1b;
  int depth = 1;          // pipeline ranks; DualPipe: pairs of them
  double interleave = 1;  // virtual stages a rank
};

// Micro-batches' worth of a stage's activations at its peak.
double in_flight(const PipelineShape& shape, int stage, double num_micro_batches);

// `count` equal stages.
struct StagePace {
  double one = 0;  // seconds of one micro-batch
  double all = 0;  // seconds of all its micro-batches
  int count = 1;
  // Seconds of one micro-batch without its weight gradients, and of backward alone; only asked for
  // where the schedule splits the backward pass. Under Varuna without recompute, and of that
  // without what copies to and from a memory tier add.
  double passes = 0;
  double backward = 0;
  // Seconds of the step in which its messages hold it up, all but the first micro-batch's: of
  // activations, of gradients, of both. Not always the sum: that is the most of any of `count`.
  double sends_forward = 0;
  double sends_back = 0;
  double sends = 0;
};

// How many messages a rank sends for each micro-batch.
struct SendCount {
  int forward = 0;  // activations
  int back = 0;     // gradients
  int both = 0;     // the most of any rank where this stands for several
};

struct PipelineTime {
  int slowest = 0;    // index of the stage that decides
  double bubble = 0;  // what the others add to its work
  double own = 0;     // A - x of that stage
  double sends = 0;   // of that stage
};

PipelineTime pipeline_time(std::span<const StagePace> stages, const PipelineShape& shape);

// Seconds of a stage's one micro-batch behind which the gradient reduction can hide. None under a
// zero-bubble schedule: it computes weight gradients last of all. Under Varuna neither recompute,
// which comes before the last backward pass, nor copies: these may be hidden behind recompute, and
// must not make a step shorter then.
double reduction_window(const StagePace& stage, const PipelineShape& shape);

// Seconds of work that a rank still has, at the end of a step, after its last chunk is done with
// all micro-batches: interleaved 1F1B (Narayanan 2021) takes p micro-batches through one chunk
// after the other, so (v - 1) / v of p micro-batches are left, and gradients of finished chunks can
// be reduced meanwhile; looped BFS has (v - 1) / v of all m left. `own` is PipelineTime's; 0 for
// other schedules.
double later_chunks(const PipelineShape& shape, double own, double num_micro_batches);

// One activation from stage to stage. `message` are the bytes that each tensor rank holds of it,
// `copies` how many of those ranks hold the same.
double transfer_seconds(const Fabric& fabric, bool same_domain, double message, const Wire& copies,
                        double host_seconds);

struct TransferLoad {
  double once = 0;       // seconds one way at the busiest boundary
  double crossings = 0;  // seconds over all boundaries, once each
  double num_micro_batches = 1;
  int num_ranks = 1;        // of the whole job
  int tp = 1;               // the widest
  double memory_share = 0;  // of the fullest rank
};
// Fills in what its messages cost a stage.
void add_sends(StagePace& stage, const SendCount& count, const TransferLoad& load,
               const PipelineShape& shape, const Parameters& parameters);
// What the first micro-batch's messages cost all stages together, and what stalls.
double crossing_seconds(const TransferLoad& load);
double stall_seconds(const TransferLoad& load, const PipelineShape& shape,
                     const Parameters& parameters);

}  // namespace nereus::cost
