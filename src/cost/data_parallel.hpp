// Communication and update of ranks that train the same weights: gather sharded weights, reduce
// gradients, update.
//
// The state of `n` parameters is divided into `pieces` among an inner group, and replicated across
// an outer group (ZeRO, Rajbhandari 2020; HSDP if both groups are larger than one; pieces = 1:
// plain replicas):
//   reduce  = reduce-scatter(inner, n) + all-reduce(outer, n / pieces) + all-gather(inner, n)
//             once per step: gradients one way, updated weights the other
//   each    = per micro-batch, if gradients are sharded and weights are not (ZeRO-2): a
//             reduce-scatter, and an all-gather if the engine gathers weights again (Zero2Rule).
//             The last micro-batch has `reduce` instead: replicas all-reduce once per step
//             (torchtitan pull request 4505, Megatron-LM pull request 7186)
//   shard   = per micro-batch, if sharded weights are not kept: gather each layer's weights
//             before forward (and again before backward if the stack frees them), scatter its
//             gradients after backward, and all-reduce them among replicas
// Gathers and scatters of uneven pieces take the time that all_gather_uneven_seconds returns.
//
// Overlap. The last backward pass overlaps with a part of `reduce`:
//   exposed = max(5 % of reduce, reduce - o (B / v + L), reduce / v - o B / v)
//             o = reduction_overlap(), v = virtual stages (chunks) per rank,
//             B = 2/3 T, T = one micro-batch on the fastest stage, and
//             L = 2/3 of the work that the deciding stage (cost/pipeline_time.hpp) has left after
//             its last chunk is done; with a single stage, B = T less its forward pass
// `each` is exposed like `reduce`, behind its own backward pass: engines wait for it when the
// backward pass ends (DeepSpeed's reduction epilogue, FSDP2's root post-backward callback). Its o
// is shard_overlap, because the engines that have it reduce as they do under ZeRO-3. The third term
// is for the first chunk, which finishes last: its reduction can only overlap with its own last
// pass. If the plan has no data overlap, all of `reduce` is exposed. Monotone: if T becomes x
// shorter, `exposed` grows by at most o x / v, but the step becomes at least x / v shorter
// (cost/pipeline_time.hpp), whichever stage T belongs to. If the deciding stage, and with it the
// step, becomes y shorter, L shrinks by at most y p (v - 1) / v / (m - 1 / v) <= y.
//
// The optimizer reads the gradient, the master weight and two moments, and writes master weight,
// moments and the weight:
//   touched = gradient_bytes + 2 optimizer_bytes + 2, per parameter that the rank keeps
// A measured update time (cost/measured.hpp) is used instead if there is one.
// Most engines update state that is in host memory, or on the host's drives, on the host
// (StackOptions::host_update; Ren 2021, ZeRO-Offload; Megatron-LM --optimizer-cpu-offload):
//   host = touched * devices per node / host_update_rate, for the offloaded parameters
// whose gradients cross the host link one way and whose weights the other; from drives, their state
// as well. The rate is cited from Ren 2021, table 4, not re-read: 10 billion parameters in 2.57 s
// on the two Xeons of a DGX-2, which is 117 GB/s of its 256 GB/s of memory bandwidth. Otherwise
// (expanded memory, or without host_update) the state streams through the device while the
// optimizer runs. Host, link, and the device's update of all of its parameters: the longest counts.
// The device has less to do when the host updates, but searches rely on it that more offloading
// never makes a step shorter.
//
//   const Division data = divide(machine, d.dp * d.cp, d.tp, pieces);
//   double comm = reduce_seconds(data, parameters, options);
#pragma once

#include "cost/machine_rates.hpp"

namespace nereus::cost {

struct Division {
  int pieces = 1;
  double largest = 1;  // share of the parameters in the largest piece
  Wire inner;          // of the ranks that hold one sharded copy
  Wire outer;          // of the ranks that hold the same piece
  bool even() const { return largest * pieces <= 1 + 1e-12; }
};

// A division among `size` ranks, `stride` apart, all on one kind of node, with equal pieces.
Division divide(const Machine& machine, int size, int stride, int pieces);

double reduce_seconds(const Division& division, double parameters, const StackOptions& options);
// `each`, for sharded gradients of whole weights.
double reduce_each_seconds(const Division& division, double parameters,
                           const StackOptions& options);
// Whether ZeRO-2 keeps whole gradients until the step ends.
bool keeps_gradients(const StackOptions& options, double num_micro_batches);
// `shard` for weights that are gathered `layers` layers at a time, one after the other.
double shard_seconds(const Division& division, double parameters, double layers,
                     const StackOptions& options);

// Used for the part of `reduce` that the last backward pass does not hide.
enum class Sharing { kCopies, kOptimizer, kWeights };  // the highest level that the plan shards
// Share of the concurrent compute time that a reduction can use.
double reduction_overlap(Sharing sharing, const Parameters& parameters);
// Seconds of backward passes that the reduction can overlap with.
struct ReductionWindow {
  double last = 0;   // B
  double later = 0;  // L
};
inline constexpr double kBackward = 2.0 / 3;  // share of a micro-batch's time
inline constexpr double kLastBucket = 0.05;   // share of a reduction that runs after the last pass
// The window of a plan with a single stage.
ReductionWindow one_stage_window(double stage, double forward);
double exposed_reduce(double reduce, Sharing sharing, const ReductionWindow& window,
                      double interleave, bool overlaps, const Parameters& parameters);

// `parameters` are those whose optimizer state the rank keeps.
double optimizer_seconds(double parameters, const StackOptions& options, const Machine& machine,
                         cluster::Precision precision);
// Whether the host updates the optimizer state that is in this tier.
bool host_updates(plan::Tier tier, const StackOptions& options);
// The time in which the host updates `parameters` of each of its node's devices.
double host_update_seconds(double parameters, const StackOptions& options, const Machine& machine);
// Bytes per parameter that cross the link to the tier, each way, while its state is updated.
double update_copy_bytes(plan::Tier tier, const StackOptions& options);

}  // namespace nereus::cost
