#include "cost/stage_time.hpp"

#include <algorithm>
#include <cmath>

namespace nereus::cost {

using plan::Recompute;

double smooth_max(double a, double b, const Machine& machine) {
  const double high = std::max(a, b);
  const double low = std::min(a, b);
  if (low <= machine.host_ratio * high) return high;
  const double sharpness = machine.parameters.host_sharpness;
  // Like pow, except for the last digit or two, in two thirds of the time.
  const double both = 1 + std::exp2(sharpness * std::log2(low / high));
  return high * std::exp2(std::log2(both) / sharpness);
}

namespace {

// Runs show, for up to four domains (tp 32 over nodes of 8), that a collective over d domains waits
// d latencies per rank. There are no measurements of wider ones; beyond that, the wait is assumed
// to grow like the depth of a tree over the domains.
double domains_waited_for(int tp, int domain) {
  constexpr double kMeasured = 4;
  const double domains = static_cast<double>(tp) / domain;
  if (domains <= kMeasured) return domains;
  return kMeasured * kMeasured * (1 + std::log2(domains / kMeasured)) / domains;
}

}  // namespace

StageRules stage_rules(const Machine& machine, const StackOptions& options, const Wire& tensor,
                       bool tensor_overlap, bool pipelined) {
  const Parameters& p = machine.parameters;
  const Fabric& fabric = tensor.fabric;
  const int tp = tensor.group.size;
  StageRules rules;
  rules.every_other_block = options.selective == SelectiveRule::kEveryOtherBlock;
  rules.tensor_exposed = tensor_overlap ? 1 - p.tensor_overlap : 1;
  // A tensor collective waits until all its ranks have launched it. Across nodes, and after
  // pipeline transfers that cross nodes, this costs time per rank.
  const bool wide = tp > fabric.domain;
  double rank_latency =
      wide ? fabric.network_latency * domains_waited_for(tp, fabric.domain) : fabric.link_latency;
  if (pipelined) rank_latency += p.pipelined_latency;
  rules.collective_host = p.host_collective + rank_latency * tp;
  rules.host_layer = p.host_layer;
  rules.host_expert = p.host_expert;
  rules.expert_exposed = 1 - p.expert_overlap;
  rules.host_fallback = p.host_fallback;
  rules.accumulate_seconds = p.accumulate_bytes * options.accumulate_traffic / machine.memory_rate;
  return rules;
}

LayerTime layer_time(const KindCost& kind, bool block, Recompute recompute,
                     const StageRules& rules) {
  const LayerCost& cost = kind.cost;
  const double accumulate = kind.whole ? 0 : rules.accumulate_seconds;
  const bool again = block && recompute == Recompute::kFull;
  LayerTime time;
  time.parameters = cost.parameters;
  time.expert_parameters = cost.expert_parameters;
  time.blocks = block ? 1 : 0;
  time.expert_layers = cost.expert_parameters > 0 ? 1 : 0;
  time.compute =
      cost.forward + cost.backward + (cost.parameters + cost.expert_parameters) * accumulate;
  if (again) time.recompute = cost.forward;
  if (block && recompute == Recompute::kSelective)
    time.recompute = rules.every_other_block ? 0.5 * cost.forward : cost.attention_forward;
  time.tensor =
      (kind.tensor_forward * (again ? 2 : 1) + kind.tensor_backward) * rules.tensor_exposed;
  time.expert = kind.expert_forward * (again ? 3 : 2) * rules.expert_exposed + kind.table_forward +
                kind.table_backward;
  time.context = kind.context_forward * (again ? 2 : 1) + kind.context_backward;
  const int collectives = kind.collectives_forward * (again ? 2 : 1) + kind.collectives_backward;
  time.forward = cost.forward + kind.tensor_forward * rules.tensor_exposed +
                 kind.expert_forward * rules.expert_exposed + kind.context_forward +
                 kind.table_forward;
  time.weight_gradient =
      cost.weight_gradient + (cost.parameters + cost.expert_parameters) * accumulate;
  if (kind.whole) return time;  // what the host takes is part of it
  const double kernels =
      (rules.host_layer * cost.launches + rules.host_expert * cost.local_experts) *
      (1 - cost.fused_experts);
  if (again) time.host_again = kernels / 3 + kind.collectives_forward * rules.collective_host;
  time.host_weight = kernels / 3;
  time.host = (again ? 4.0 / 3 : 1) * kernels + cost.softmax_fallback * rules.host_fallback +
              collectives * rules.collective_host;
  return time;
}

double forward_alone(const LayerTime& layers, const Machine& machine) {
  const double host = layers.host - layers.host_again - layers.host_weight;
  return smooth_max(layers.forward, 0.5 * host, machine);
}

double straggler_seconds(double passes, double num_ranks, const Parameters& p) {
  return p.straggler > 0 ? p.straggler * std::log2(std::max(1.0, num_ranks)) * passes : 0;
}

StageTime stage_time(const StageWork& work, double shard_seconds, double copy_seconds,
                     StageMode mode, const Machine& machine) {
  const Parameters& p = machine.parameters;
  const LayerTime& sum = work.sum;
  StageTime time;
  time.compute = sum.compute;
  time.recompute = sum.recompute;
  time.tensor = sum.tensor;
  time.context = sum.context;
  time.expert = sum.expert;
  const double overlap = mode.data_overlap ? p.shard_overlap : 0;
  // Fills in the total time of a stage that keeps its device busy for that long.
  const auto total_of = [&](double device, double host, double& shard, double& offload) {
    const double hidden = overlap * std::min(shard_seconds, device);
    shard = shard_seconds - hidden + p.compute_slowdown * hidden;
    offload = std::max(0.0, copy_seconds - (device + shard));
    return smooth_max(device + shard + offload, host, machine);
  };
  const double device = sum.device();
  time.total = total_of(device, sum.host, time.shard, time.offload);
  if (mode.splits_backward) {
    double shard = 0;
    double offload = 0;
    const double passes = device - sum.weight_gradient;
    const double input = passes - sum.forward;
    const double host = sum.host - sum.host_weight;
    const double input_host = 0.5 * (host + sum.host_again);
    const double input_alone = smooth_max(input, input_host, machine);
    const double alone = smooth_max(sum.forward, host - input_host, machine) + input_alone;
    const double weight = smooth_max(sum.weight_gradient, sum.host_weight, machine);
    time.backward = std::max(input_alone, total_of(input, input_host, shard, offload));
    time.passes = std::max(alone, total_of(passes, host, shard, offload));
    time.total = std::max(time.total, alone + weight);
  }
  time.launch = time.total - (device + time.shard + time.offload);
  return time;
}

}  // namespace nereus::cost
