// One micro-batch, forward and backward, on one stage.
//
//   device = compute + recompute + tensor + context + expert      of the stage's layers
//   shard  = c - o min(c, device) (1 - s)      c = gathering and scattering of sharded state
//                                              (cost/data_parallel.hpp), o = shard_overlap,
//                                              s = compute_slowdown of concurrent kernels;
//                                              o = 0 if the plan has no data overlap
//   copy   = max(0, h - (device + shard))      h = time of copies from and to an offload tier
//   stage  = smooth maximum of (device + shard + copy) and the host's launches:
//            (a^q + b^q)^(1/q), q = host_sharpness: the host runs ahead of the device by a bounded
//            queue, so if both are nearly equal, both wait
// Forward, input gradients and weight gradients each have a third of the launches; the launches of
// collectives belong to the first two. If weight gradients run separately, each of the three passes
// waits for its own launches, and the stage takes the sum of their times.
//
// Monotone: if the device needs x seconds less, shard grows by at most o (1 - s) x <= x, copy by at
// most the rest, and the smooth maximum grows with both its arguments. So a faster part never makes
// the stage slower.
//
//   LayerTime block = layer_time(kind_cost, true, Recompute::kFull, rules);
//   StageWork work;
//   work.add(block, 12);                                    // twelve such layers
//   StageTime time = stage_time(work, shard_seconds, 0, {}, machine);
#pragma once

#include "cost/layer_cost.hpp"
#include "plan/degrees.hpp"

namespace nereus::cost {

// The numbers that hold for all layers of a stage.
struct StageRules {
  bool every_other_block = false;  // whether selective recompute repeats every other block
  double tensor_exposed = 1;       // share of the tensor collectives that is exposed
  double collective_host = 0;      // host seconds of one tensor collective
  double host_layer = 0;           // host seconds of one block, forward and backward pass
  double host_expert = 0;          // additional host seconds per expert on the rank
  double expert_exposed = 1;       // share of the experts' collectives that is exposed
  double host_fallback = 0;  // additional host seconds if the fused softmax kernel cannot be used
  double accumulate_seconds = 0;  // seconds to accumulate one parameter's gradient
};

// `pipelined`: pipeline transfers cross nodes concurrently with the tensor collectives.
StageRules stage_rules(const Machine& machine, const StackOptions& options, const Wire& tensor,
                       bool tensor_overlap, bool pipelined);

// Seconds of one layer, forward and backward pass; `parameters` are those on this rank.
struct LayerTime {
  double compute = 0;
  double recompute = 0;
  double tensor = 0;
  double context = 0;
  double expert = 0;
  double host = 0;
  double host_again = 0;   // part of the host's launches for recompute
  double host_weight = 0;  // part of the host's launches for weight gradients
  double parameters = 0;
  double expert_parameters = 0;
  double blocks = 0;
  double expert_layers = 0;
  double forward = 0;          // part of the above in the forward pass
  double weight_gradient = 0;  // part of the above that only the reduction waits for

  double device() const { return compute + recompute + tensor + context + expert; }
};

LayerTime layer_time(const KindCost& kind, bool block, plan::Recompute recompute,
                     const StageRules& rules);

// The sums over the layers of a stage.
struct StageWork {
  LayerTime sum;
  void add(const LayerTime& layer, double count) {
    sum.compute += count * layer.compute;
    sum.recompute += count * layer.recompute;
    sum.tensor += count * layer.tensor;
    sum.context += count * layer.context;
    sum.expert += count * layer.expert;
    sum.host += count * layer.host;
    sum.host_again += count * layer.host_again;
    sum.host_weight += count * layer.host_weight;
    sum.parameters += count * layer.parameters;
    sum.expert_parameters += count * layer.expert_parameters;
    sum.blocks += count * layer.blocks;
    sum.expert_layers += count * layer.expert_layers;
    sum.forward += count * layer.forward;
    sum.weight_gradient += count * layer.weight_gradient;
  }
};

// `total` is the sum of the members from `compute` to `launch`.
struct StageTime {
  double compute = 0;
  double recompute = 0;
  double tensor = 0;
  double context = 0;
  double expert = 0;
  double shard = 0;
  double offload = 0;
  double launch = 0;  // time that the host needs beyond the device's
  double total = 0;
  // `passes` is `total` without weight gradients, and `backward` is `passes` without the forward
  // pass. Both are 0 if the backward pass is not split.
  double passes = 0;
  double backward = 0;
};

struct StageMode {
  bool data_overlap = true;      // whether sharding communication overlaps with compute
  bool splits_backward = false;  // weight gradients run separately: fill in `passes` and `backward`
};

// (a^q + b^q)^(1/q), q = host_sharpness.
double smooth_max(double a, double b, const Machine& machine);
// Seconds of a forward pass that waits only for its own launches.
double forward_alone(const LayerTime& layers, const Machine& machine);

// The wait for the slowest of all ranks, per step: no two devices clock alike, and the more there
// are, the slower the slowest is.
double straggler_seconds(double passes, double num_ranks, const Parameters& p);

StageTime stage_time(const StageWork& work, double shard_seconds, double copy_seconds,
                     StageMode mode, const Machine& machine);

}  // namespace nereus::cost
