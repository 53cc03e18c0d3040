#include "cost/step.hpp"

#include <algorithm>
#include <cmath>

namespace nereus::cost {

using plan::Degrees;
using plan::Recompute;

namespace {

// max(a, b) without its corner: the host runs ahead of the device by a bounded queue, so near
// equality both wait.
double smooth_max(double a, double b, double sharpness) {
  const double high = std::max(a, b);
  if (high <= 0) return 0;
  const double ratio = std::min(a, b) / high;
  return high * std::pow(1 + std::pow(ratio, sharpness), 1 / sharpness);
}

// Ranks that share one copy of sharded state.
int shard_group(const Degrees& d) { return d.zero_group > 0 ? d.zero_group : d.dp * d.cp; }

}  // namespace

StageTime stage_time(const Tables& tables, const SplitCosts& split, const StageClass& stage,
                     const Degrees& d) {
  const Parameters& p = tables.parameters();
  const Fabric& fabric = tables.fabric();
  const bool full = d.recompute == Recompute::kFull;
  const bool selective = d.recompute == Recompute::kSelective;
  const bool half = tables.options().selective == SelectiveRule::kEveryOtherBlock;
  const bool crosses_nodes = d.num_ranks() > tables.devices_per_node();

  // A tensor collective waits for all its ranks to launch it; across nodes, and behind pipeline
  // transfers that cross nodes, that costs time for every rank.
  const bool wide = d.tp > fabric.domain;
  double rank_latency = wide ? fabric.network_latency * d.tp / fabric.domain : fabric.link_latency;
  if (d.pp > 1 && crosses_nodes) rank_latency += p.pipelined_latency;
  const double collective_host = p.host_collective + rank_latency * d.tp;

  StageTime time;
  double host = 0;
  double parameters = 0;
  double shard_latency_layers = 0;
  for (std::size_t kind = 0; kind < stage.counts.size(); ++kind) {
    const int count = stage.counts[kind];
    if (count == 0) continue;
    const KindCost& k = split.kinds[kind];
    const bool block = tables.model().kinds[kind].role == model::LayerRole::kBlock;
    const bool again = full && block;
    time.compute += count * (k.cost.forward + k.cost.backward);
    if (again) time.recompute += count * k.cost.forward;
    if (selective && block)
      time.recompute += count * (half ? 0.5 * k.cost.forward : k.cost.attention_forward);
    const double tensor = k.tensor_forward * (again ? 2 : 1) + k.tensor_backward;
    time.tensor += count * tensor * (d.tensor_overlap ? 1 - p.tensor_overlap : 1);
    time.expert += count * k.expert_forward * (again ? 3 : 2);
    time.context += count * (k.context_forward * (again ? 2 : 1) + k.context_backward);
    const int collectives = k.collectives_forward * (again ? 2 : 1) + k.collectives_backward;
    const double launches = (block ? p.host_layer * (again ? 4.0 / 3 : 1) : 0.3 * p.host_layer) +
                            k.cost.softmax_fallback * p.host_fallback;
    host += count * (launches + (d.tp > 1 ? collectives * collective_host : 0));
    parameters += count * (k.cost.parameters + k.cost.expert_parameters);
    if (block) shard_latency_layers += count;
  }
  // The weight gradient of every micro-batch is added to the one before.
  const double accumulate = parameters * p.accumulate_bytes /
                            (tables.device().memory_bandwidth.value * p.memory_efficiency);
  time.compute += accumulate;
  double device = time.compute + time.recompute + time.tensor + time.expert + time.context;

  if (d.zero == 3 && d.pp == 1) {
    // Each layer's weights are gathered before forward and again before backward, its gradients
    // scattered after. Under a pipeline they stay gathered for the step (data_time).
    const int group = shard_group(d);
    const Group ranks = group_of(group, d.tp, fabric.domain);
    const StackOptions& options = tables.options();
    const double layers = std::max(1.0, shard_latency_layers + 1);
    const double gather =
        layers * all_gather_seconds(fabric, ranks, parameters * options.gather_bytes / layers);
    const double scatter =
        layers * reduce_scatter_seconds(fabric, ranks, parameters * options.reduce_bytes / layers);
    double comm = gather * (options.regather_backward ? 2 : 1) + scatter;
    if (group < d.dp * d.cp) {
      const Group copies = group_of(d.dp * d.cp / group, d.tp * group, fabric.domain);
      comm += all_reduce_seconds(fabric, copies, parameters * options.reduce_bytes / group);
    }
    const double hidden = p.shard_overlap * std::min(comm, device);
    time.shard = comm - hidden + p.compute_slowdown * hidden;
    device += time.shard;
  }

  time.total = smooth_max(device, host, p.host_sharpness);
  time.launch = time.total - device;
  return time;
}

double transfer_seconds(const Tables& tables, const SplitCosts& split, const Degrees& d, int m,
                        double memory_share) {
  const Parameters& p = tables.parameters();
  const Fabric& fabric = tables.fabric();
  double message = 0;
  for (std::size_t kind = 0; kind < tables.model().kinds.size(); ++kind)
    if (tables.model().kinds[kind].role != model::LayerRole::kHead)
      message = std::max(message, split.kinds[kind].cost.message);
  const bool same_node = d.num_ranks() <= fabric.domain;
  // Every rank of a tensor group holds the same activation: each sends its share and the receivers
  // gather it inside the node (Narayanan 2021, scatter/gather). Sequence parallelism has divided it
  // already.
  const double share = d.sequence_parallel ? 1 : d.tp;
  double once = send_seconds(fabric, same_node, message / share);
  once += p.host_transfer;
  if (share > 1) once += all_gather_seconds(fabric, group_of(d.tp, 1, fabric.domain), message);
  // The first micro-batch crosses every boundary twice with nothing to hide behind; in the steady
  // state each micro-batch waits for one transfer forward and one backward, once per virtual stage.
  const double steady = 2.0 * (m - 1) * d.interleave * once * (1 - p.pipeline_overlap);
  double total = steady + 2.0 * (d.pp - 1) * once;
  if (p.transfer_stall > 0 && (d.num_ranks() >= p.transfer_stall_devices || d.tp >= 32 ||
                               memory_share > p.transfer_stall_memory)) {
    // Every send and receive stalls; a middle stage has four of them for each micro-batch, an end
    // stage two.
    total += p.transfer_stall * (d.pp > 2 ? 4 : 2) * (m + 0.3 * d.pp);
  }
  return total;
}

DataTime data_time(const Tables& tables, const SplitCosts& split, const StageTable& stages,
                   const Degrees& d, double quickest_stage) {
  const Parameters& p = tables.parameters();
  const Fabric& fabric = tables.fabric();
  const StackOptions& options = tables.options();
  double most = 0;
  double most_expert = 0;
  for (const StageClass& stage : stages.classes) {
    double dense = 0;
    double expert = 0;
    for (std::size_t kind = 0; kind < stage.counts.size(); ++kind) {
      dense += stage.counts[kind] * split.kinds[kind].cost.parameters;
      expert += stage.counts[kind] * split.kinds[kind].cost.expert_parameters;
    }
    if (dense + expert > most + most_expert) {
      most = dense;
      most_expert = expert;
    }
  }
  DataTime time;
  const int group = d.dp * d.cp;
  if ((d.zero < 3 || d.pp > 1) && group > 1) {
    const Group ranks = group_of(group, d.tp, fabric.domain);
    const int expert_group = std::max(1, group * d.tp / (d.ep * d.expert_tp));
    const Group expert_ranks = group_of(expert_group, d.ep * d.expert_tp, fabric.domain);
    double comm = 0;
    if (d.zero == 0) {
      comm = all_reduce_seconds(fabric, ranks, most * options.reduce_bytes) +
             all_reduce_seconds(fabric, expert_ranks, most_expert * options.reduce_bytes);
    } else {
      comm = reduce_scatter_seconds(fabric, ranks, most * options.reduce_bytes) +
             all_gather_seconds(fabric, ranks, most * options.gather_bytes) +
             reduce_scatter_seconds(fabric, expert_ranks, most_expert * options.reduce_bytes) +
             all_gather_seconds(fabric, expert_ranks, most_expert * options.gather_bytes);
    }
    // What the last backward pass can hide: two thirds of a micro-batch on the quickest stage (with
    // virtual stages, of its last part).
    const double overlap = d.zero == 0   ? p.data_overlap
                           : d.zero == 3 ? p.shard_overlap
                                         : p.zero_overlap;
    const double window = overlap * (2.0 / 3) * quickest_stage / d.interleave;
    time.reduce = std::max(0.05 * comm, comm - window);
  }
  if (d.pp > 1 && tables.tied_parameters() > 0) {
    const Group pair{2, d.num_ranks() <= fabric.domain ? 2 : 1};
    time.reduce +=
        all_reduce_seconds(fabric, pair, tables.tied_parameters() / d.tp * options.reduce_bytes);
  }
  // Reads gradient, master weight and two moments, writes them and the working weight.
  const double shards = d.zero >= 1 ? (d.zero == 3 ? shard_group(d) : group) : 1;
  const double touched =
      (most + most_expert) / shards * (options.gradient_bytes + 2 * options.optimizer_bytes + 2);
  const double rate = tables.device().memory_bandwidth.value * p.memory_efficiency;
  time.optimizer = touched * p.optimizer_passes / rate;
  return time;
}

}  // namespace nereus::cost
