#include "cost/machine_rates.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "cluster/links.hpp"
#include "cost/measured.hpp"
#include "cost/measured_network.hpp"

namespace nereus::cost {

namespace {

constexpr double kUnstatedTierRate = 16e9;

int first_rank_of(const cluster::Cluster& cluster, int group_index) {
  int first = 0;
  for (int i = 0; i < group_index; ++i) first += cluster.groups[i].num_devices();
  return first;
}

// The network between the ends of the group; if they share a fast domain, the network of the node.
cluster::Link network_of(const cluster::Cluster& cluster, const cluster::NodeGroup& group,
                         int first) {
  const int last = first + group.num_devices() - 1;
  if ((last - first) / group.node.domain() > 0 && group.count > 1)
    return cluster::link_between(cluster, first, last);
  BytesPerSecond rate = group.node.network;
  for (const cluster::NetworkLevel& level : cluster.levels)
    if (level.bandwidth.value > 0)
      rate = rate.value > 0 ? std::min(rate, level.bandwidth) : level.bandwidth;
  return {rate / std::max(1, group.node.num_devices), group.node.network_latency, 1};
}

// Number of children that the network level joins: as stated, or all of the level below.
int num_joined(const cluster::Cluster& cluster, int level, int domain) {
  const cluster::NetworkLevel& own = cluster.levels[static_cast<std::size_t>(level) - 1];
  if (own.size > 0) return own.size;
  double children = static_cast<double>(cluster.num_devices()) / domain;
  for (int i = 0; i + 1 < level; ++i) children /= std::max(1, cluster.levels[i].size);
  return std::max(1, static_cast<int>(std::ceil(children)));
}

Fabric fabric_of(const cluster::Cluster& cluster, const cluster::NodeGroup& group, int first,
                 const Parameters& p) {
  const cluster::Node& node = group.node;
  // Bridged pairs: a group that is larger than a pair meets over the host link.
  const cluster::Link inside =
      node.num_devices > 1 && node.domain() < node.num_devices
          ? cluster::link_between(cluster, first, first + node.num_devices - 1)
          : cluster::Link{node.inside.bandwidth / node.inside.oversubscription, node.inside.latency,
                          0};
  const cluster::Link network = network_of(cluster, group, first);
  Fabric fabric;
  fabric.link = inside.bandwidth.value * p.link_efficiency;
  fabric.link_latency = std::max(p.link_latency, inside.latency.value);
  fabric.domain = std::max(node.num_devices, node.domain());
  fabric.network = network.bandwidth.value * p.network_efficiency;
  fabric.network_latency = std::max(p.network_latency, network.latency.value);
  fabric.jitter = p.network_jitter;
  // Devices that meet over the host link meet as at a switch.
  if (node.domain() >= node.num_devices) fabric.inside = node.inside.topology;
  if (network.level >= 1 && network.level <= static_cast<int>(cluster.levels.size())) {
    fabric.between = cluster.levels[static_cast<std::size_t>(network.level) - 1].topology;
    fabric.num_joined = num_joined(cluster, network.level, fabric.domain);
  }
  if (fabric.link <= 0) fabric.link = fabric.network;
  return fabric;
}

TierRoom room_of(const cluster::Node& node, plan::Tier tier) {
  const cluster::MemoryTier* own = node.tier(plan::to_string(tier));
  if (own == nullptr) return {};
  double rate = own->bandwidth.value;
  if (const double link = node.device.host_link.value; link > 0 && tier != plan::Tier::kExpanded)
    rate = rate > 0 ? std::min(rate, link) : link;
  return {rate > 0 ? rate : kUnstatedTierRate, own->capacity.value / std::max(1, node.num_devices),
          own->latency.value};
}

}  // namespace

Machine make_machine(const cluster::Cluster& cluster, int group_index, const Basis& basis) {
  NEREUS_CHECK(group_index >= 0 && group_index < static_cast<int>(cluster.groups.size()),
               "a machine is one of the cluster's groups of nodes");
  const cluster::NodeGroup& group = cluster.groups[group_index];
  Machine machine;
  machine.device = group.node.device;
  machine.parameters = basis.stack.parameters_for(machine.device);
  const Parameters& p = machine.parameters;
  machine.fabric = fabric_of(cluster, group, first_rank_of(cluster, group_index), p);
  const MeasuredNetwork* network =
      basis.networks ? basis.networks->of(machine.device.short_name) : nullptr;
  if (network) use_measured(machine.fabric, machine.parameters, *network);
  machine.devices_per_node = group.node.num_devices;
  machine.memory_rate = machine.device.memory_bandwidth.value * p.memory_efficiency;
  if (basis.layers)
    for (int i = 0; i < cluster::kNumPrecisions; ++i)
      if (const MeasuredDevice* own =
              basis.layers->of(machine.device.short_name, static_cast<cluster::Precision>(i))) {
        machine.update[i] = own->update;
        if (own->includes_rest)
          machine.parameters.host_step = machine.parameters.host_micro_batch = 0;
      }
  // (1 + x)^(1/s) is 1 in doubles once x = ratio^s is below half their spacing.
  machine.host_ratio = std::pow(1e-17, 1 / p.host_sharpness);
  for (plan::Tier tier : {plan::Tier::kExpanded, plan::Tier::kHost, plan::Tier::kNvme})
    machine.tiers[static_cast<std::size_t>(tier)] = room_of(group.node, tier);
  TierRoom& host = machine.tiers[static_cast<std::size_t>(plan::Tier::kHost)];
  if (network && network->host_rate > 0 && host.rate > 0) host.rate = network->host_rate;
  return machine;
}

}  // namespace nereus::cost
