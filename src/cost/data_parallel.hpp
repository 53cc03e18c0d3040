// What ranks that train the same weights do together: gather divided weights, reduce gradients,
// update.
//
// State of `n` parameters is divided into `pieces` among an inner group, and copied by an outer one
// (ZeRO, Rajbhandari 2020; HSDP where both are larger than one; pieces = 1: plain copies):
//   reduce  = reduce-scatter(inner, n) + all-reduce(outer, n / pieces) + all-gather(inner, n)
//             once a step: gradients one way, updated weights the other
//   shard   = per micro-batch where divided weights are not kept: each layer's weights gathered
//             before forward (and again before backward where the stack frees them), its gradients
//             scattered after, copies summed
// Uneven pieces cost what all_gather_uneven_seconds says.
//
// Overlap. The last backward pass hides a part of `reduce`:
//   exposed = max(5 %, reduce - o (B / v + L), reduce / v - o B / v)
//             B = 2/3 T, T = one micro-batch on the quickest stage, and
//             L = 2/3 of the work after the last chunk is done, of the stage that decides;
//             where one stage is all, B = T less its forward pass
// where the first chunk, which is done last, has nothing but its own pass to hide behind,
// or all of it where the plan overlaps nothing.
// Monotone: with T shorter by x, exposed grows by at most o x / v, but the step lost at least
// x / v with that stage (cost/pipeline_time.hpp), whichever stage it is. L shrinks by at most
// p (v - 1) / v / (m - 1 / v) <= 1 of what the deciding stage, and with it the step, gains.
//
// The optimizer reads gradient, master weight and two moments and writes them and the weight:
//   touched = gradient_bytes + 2 optimizer_bytes + 2 for each parameter the rank keeps
// or as long as was measured (cost/measured.hpp).
// State that lies in host memory streams through the device while the optimizer runs; the longer of
// both counts (Ren 2021 updates on the host instead, which moves less and computes more slowly).
//
//   const Division data = divide(machine, d.dp * d.cp, d.tp, pieces);
//   double comm = reduce_seconds(data, parameters, options);
#pragma once

#include "cost/machine_rates.hpp"

namespace nereus::cost {

struct Division {
  int pieces = 1;
  double largest = 1;  // share of the largest piece
  Wire inner;          // ranks that hold one divided copy
  Wire outer;          // ranks that hold the same piece
  bool even() const { return largest * pieces <= 1 + 1e-12; }
};

// `size` ranks, `stride` apart, all of one kind of node, with equal pieces.
Division divide(const Machine& machine, int size, int stride, int pieces);

double reduce_seconds(const Division& division, double parameters, const StackOptions& options);
// Of weights that are gathered `layers` at a time, one after the other.
double shard_seconds(const Division& division, double parameters, double layers,
                     const StackOptions& options);

// What of `reduce` the last backward pass does not hide.
enum class Sharing { kCopies, kOptimizer, kWeights };  // what is divided at most
// Share of the compute beside a reduction that it can use.
double reduction_overlap(Sharing sharing, const Parameters& parameters);
// Seconds of backward passes that it can hide behind.
struct ReductionWindow {
  double last = 0;   // B
  double later = 0;  // L
};
inline constexpr double kBackward = 2.0 / 3;  // of a micro-batch's time
inline constexpr double kLastBucket = 0.05;   // of a reduction, that follows the last pass
// Where one stage is all.
ReductionWindow one_stage_window(double stage, double forward);
double exposed_reduce(double reduce, Sharing sharing, const ReductionWindow& window,
                      double interleave, bool overlaps, const Parameters& parameters);

// Of the parameters whose optimizer state the rank keeps.
double optimizer_seconds(double parameters, const StackOptions& options, const Machine& machine,
                         cluster::Precision precision);

}  // namespace nereus::cost
