// One micro-batch, forward and backward, on one stage.
//
//   device = compute + recompute + tensor + context + expert      of the stage's layers
//   shard  = c - o min(c, device) (1 - s)      c = gathering and scattering of divided state
//                                              (cost/data_parallel.hpp), o = shard_overlap,
//                                              s = compute_slowdown of what runs beside it;
//                                              o = 0 where the plan overlaps no data communication
//   copy   = max(0, h - (device + shard))      h = time of copies from and to a memory tier
//   stage  = smooth maximum of (device + shard + copy) and the host's launches:
//            (a^q + b^q)^(1/q), q = host_sharpness: the host runs ahead of the device by a bounded
//            queue, so near equality both wait
// Of the launches forward, input and weight gradients have a third each, and the first two those of
// collectives. Where weight gradients run apart each of the three waits for its own, and the stage
// takes their sum.
//
// Monotone: with x seconds less on the device, shard grows by at most o (1 - s) x <= x, copy by at
// most what is left, and the smooth maximum grows with both its arguments. So nothing that makes a
// part quicker makes the stage slower.
//
//   LayerTime block = layer_time(kind_cost, true, Recompute::kFull, rules);
//   StageWork work;
//   work.add(block, 12);                                    // twelve such layers
//   StageTime time = stage_time(work, shard_seconds, 0, {}, machine);
#pragma once

#include "cost/layer_cost.hpp"
#include "plan/degrees.hpp"

namespace nereus::cost {

// What holds for all layers of a stage.
struct StageRules {
  bool every_other_block = false;  // what selective recompute repeats
  double tensor_exposed = 1;       // share of the tensor collectives that nothing hides
  double collective_host = 0;      // host seconds of one tensor collective
  double host_layer = 0;           // host seconds of one block, forward and backward
  double host_expert = 0;          // more of them for each expert that the rank has
  double expert_exposed = 1;       // share of the experts' collectives that nothing hides
  double host_fallback = 0;        // more of them where the fused softmax does not apply
  double accumulate_seconds = 0;   // of one parameter's gradient, added to the one before
};

// `pipelined` says that pipeline transfers cross nodes beside the tensor collectives.
StageRules stage_rules(const Machine& machine, const StackOptions& options, const Wire& tensor,
                       bool tensor_overlap, bool pipelined);

// Seconds of one layer, forward and backward; `parameters` are those on this rank.
struct LayerTime {
  double compute = 0;
  double recompute = 0;
  double tensor = 0;
  double context = 0;
  double expert = 0;
  double host = 0;
  double host_again = 0;   // of it to launch what is recomputed
  double host_weight = 0;  // and weight gradients
  double parameters = 0;
  double expert_parameters = 0;
  double blocks = 0;
  double expert_layers = 0;
  double forward = 0;          // part of the above that is the forward pass
  double weight_gradient = 0;  // and that nothing waits for but the reduction

  double device() const { return compute + recompute + tensor + context + expert; }
};

LayerTime layer_time(const KindCost& kind, bool block, plan::Recompute recompute,
                     const StageRules& rules);

// The layers of a stage summed up.
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

// `total` is the sum of the others down to `launch`.
struct StageTime {
  double compute = 0;
  double recompute = 0;
  double tensor = 0;
  double context = 0;
  double expert = 0;
  double shard = 0;
  double offload = 0;
  double launch = 0;  // what the host needs beyond the device
  double total = 0;
  // What is left without weight gradients, and of that without the forward pass; 0 where the
  // backward pass is whole.
  double passes = 0;
  double backward = 0;
};

struct StageMode {
  bool data_overlap = true;      // of `shard_seconds`
  bool splits_backward = false;  // weight gradients run apart; say what the others take
};

// (a^q + b^q)^(1/q), q = host_sharpness.
double smooth_max(double a, double b, const Machine& machine);
// Seconds of a forward pass that waits for nothing but its own launches.
double forward_alone(const LayerTime& layers, const Machine& machine);

StageTime stage_time(const StageWork& work, double shard_seconds, double copy_seconds,
                     StageMode mode, const Machine& machine);

}  // namespace nereus::cost
