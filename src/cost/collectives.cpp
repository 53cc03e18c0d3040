#include "cost/collectives.hpp"

#include <algorithm>
#include <cmath>

namespace nereus::cost {

namespace {

using cluster::TopologyKind;

// For uneven pieces: see the header.
constexpr double kPaddedStart = 1.18;
constexpr double kGroupedRate = 0.77;

int nodes_of(Group group) { return (group.size + group.per_node - 1) / group.per_node; }

double side_of(int torus) { return std::cbrt(static_cast<double>(torus)); }

// Share of a device's rate that `used` of `all` devices of a level reach among themselves.
double share_of(TopologyKind level, int used, int all) {
  if (level != TopologyKind::kFullyConnected || all <= 2) return 1;
  return static_cast<double>(std::clamp(used, 2, all) - 1) / (all - 1);
}

// Share of it that one message has.
double send_share(TopologyKind level, int all) {
  if (level == TopologyKind::kRing && all > 2) return 1.0 / 2;
  if (level == TopologyKind::kTorus) return 1.0 / 6;
  return share_of(level, 2, all);
}

// How much longer than on a switch each of `used` devices needs to send its part to all others.
double detour(TopologyKind level, int used) {
  if (used < 2) return 1;
  const double n = used;
  if (level == TopologyKind::kRing) return std::floor(n * n / 4) / (n - 1);
  if (level == TopologyKind::kTorus) return std::max(1.0, 0.75 * side_of(used) * n / (n - 1));
  return 1;
}

// Links that the longest of those messages passes.
double longest_way(TopologyKind level, int used) {
  if (level == TopologyKind::kRing) return std::max(1, used / 2);
  if (level == TopologyKind::kTorus) return std::max(1.0, 1.5 * side_of(used));
  return 1;
}

// Steps of a ring over `used` devices.
double steps_of(TopologyKind level, int used) {
  if (level != TopologyKind::kTorus || used < 2) return used - 1;
  return std::max(1.0, 3 * (side_of(used) - 1));
}

double link_rate(const Fabric& fabric, Group group) {
  return fabric.link * share_of(fabric.inside, group.per_node, fabric.domain);
}

double network_rate(const Fabric& fabric, int nodes) {
  return fabric.network * share_of(fabric.between, nodes, fabric.num_joined);
}

// Rate at which a ring over the group moves bytes through each rank.
double ring_rate(const Fabric& fabric, Group group, int nodes) {
  if (nodes <= 1) return link_rate(fabric, group);
  const double out = network_rate(fabric, nodes) * group.per_node;
  return group.per_node > 1 ? std::min(link_rate(fabric, group), out) : out;
}

// Bytes that each rank sends to others of its domain, and to other domains.
double exchange_seconds(const Fabric& fabric, Group group, int nodes, double inside,
                        double outside) {
  const double near =
      inside > 0 ? inside * detour(fabric.inside, group.per_node) / link_rate(fabric, group) : 0;
  const double far =
      outside > 0 ? outside * detour(fabric.between, nodes) / network_rate(fabric, nodes) : 0;
  const double start =
      fabric.link_latency * longest_way(fabric.inside, group.per_node) +
      (nodes > 1 ? fabric.network_latency * longest_way(fabric.between, nodes) : 0);
  return std::max(near, far) + start;
}

// Rings over many nodes are slower than their wire, because each step waits for the slowest link.
double spread(const Fabric& fabric, int nodes) {
  return nodes > 4 ? 1 + fabric.jitter * std::log2(nodes / 4.0) : 1;
}

// Apart, so that the steps of all other levels are inlined: a search asks for them for every plan.
[[gnu::noinline]] double torus_ring_steps(const Fabric& fabric, Group group, int nodes) {
  const double inside = fabric.inside == TopologyKind::kTorus
                            ? nodes * steps_of(fabric.inside, group.per_node)
                            : group.size - nodes;
  return inside * fabric.link_latency + steps_of(fabric.between, nodes) * fabric.network_latency;
}

bool has_torus(const Fabric& fabric) {
  return fabric.inside == TopologyKind::kTorus || fabric.between == TopologyKind::kTorus;
}

double ring_steps(const Fabric& fabric, Group group, int nodes) {
  if (has_torus(fabric)) return torus_ring_steps(fabric, group, nodes);
  const int outside = nodes - 1;
  const int inside = group.size - 1 - outside;
  return inside * fabric.link_latency + outside * fabric.network_latency;
}

double tree_steps(const Fabric& fabric, Group group, int nodes) {
  const double depth = std::ceil(std::log2(static_cast<double>(nodes)));
  const double inside = fabric.inside == TopologyKind::kTorus
                            ? steps_of(fabric.inside, group.per_node)
                            : group.per_node - 1;
  return inside * fabric.link_latency + depth * fabric.network_latency;
}

}  // namespace

Group group_of(int size, int stride, int domain) {
  if (size <= 1) return {1, 1};
  if (stride >= domain) return {size, 1};
  return {size, std::max(1, std::min(size, domain / stride))};
}

double all_gather_seconds(const Fabric& fabric, Group group, double bytes) {
  if (group.size <= 1) return 0;
  const double moved = bytes * (group.size - 1) / group.size;
  const int nodes = nodes_of(group);
  return (moved / ring_rate(fabric, group, nodes) + ring_steps(fabric, group, nodes)) *
         spread(fabric, nodes);
}

double reduce_scatter_seconds(const Fabric& fabric, Group group, double bytes) {
  return all_gather_seconds(fabric, group, bytes);
}

double all_reduce_seconds(const Fabric& fabric, Group group, double bytes) {
  if (group.size <= 1) return 0;
  const double moved = 2 * bytes * (group.size - 1) / group.size;
  const int nodes = nodes_of(group);
  const double steps =
      2 * std::min(ring_steps(fabric, group, nodes), tree_steps(fabric, group, nodes));
  return moved / ring_rate(fabric, group, nodes) + steps;
}

double all_to_all_seconds(const Fabric& fabric, Group group, double bytes) {
  if (group.size <= 1) return 0;
  const double inside = bytes * (group.per_node - 1) / group.size;
  const double outside = bytes * (group.size - group.per_node) / group.size;
  const int nodes = nodes_of(group);
  return exchange_seconds(fabric, group, nodes, inside, outside) * spread(fabric, nodes);
}

double dispatch_seconds(const Fabric& fabric, Group group, double bytes, double copies,
                        double once) {
  if (group.size <= 1) return 0;
  if (once <= 0) return all_to_all_seconds(fabric, group, bytes);
  const int nodes = nodes_of(group);
  const double token = bytes / copies;
  // For one of `places`: the probability that at least one copy goes there.
  const auto visited = [&](double places) { return 1 - std::pow(1 - 1 / places, copies); };
  const double all_inside = bytes * (group.per_node - 1) / group.size;
  const double all_outside = bytes * (group.size - group.per_node) / group.size;
  // What arrives from other nodes is passed on inside the node: on average as much as leaves it.
  const double own_node = token * (group.per_node - 1) * visited(group.size);
  const double passed_on =
      nodes > 1 ? token * (nodes - 1) * (group.per_node - 1) * visited(group.size) : 0;
  const double to_nodes = nodes > 1 ? token * (nodes - 1) * visited(nodes) : 0;
  const double inside = all_inside + once * (own_node + passed_on - all_inside);
  const double outside = all_outside + once * (std::min(all_outside, to_nodes) - all_outside);
  return exchange_seconds(fabric, group, nodes, inside, outside) * spread(fabric, nodes);
}

double broadcast_seconds(const Fabric& fabric, Group group, double bytes) {
  if (group.size <= 1) return 0;
  const int nodes = nodes_of(group);
  return (bytes / ring_rate(fabric, group, nodes) + tree_steps(fabric, group, nodes)) *
         spread(fabric, nodes);
}

double send_seconds(const Fabric& fabric, bool same_domain, double bytes) {
  if (same_domain)
    return bytes / (fabric.link * send_share(fabric.inside, fabric.domain)) + fabric.link_latency;
  return bytes / (fabric.network * send_share(fabric.between, fabric.num_joined)) +
         fabric.network_latency;
}

double all_gather_uneven_seconds(const Fabric& fabric, Group group, double total, double largest) {
  if (group.size <= 1) return 0;
  const UnevenSeconds forms = uneven_forms(fabric, group, total, largest);
  return std::min(forms.padded, forms.grouped);
}

UnevenSeconds uneven_forms(const Fabric& fabric, Group group, double total, double largest) {
  if (group.size <= 1) return {};
  if (largest * group.size <= total * (1 + 1e-12)) {
    const double even = all_gather_seconds(fabric, group, total);
    return {even, even};
  }
  const int nodes = nodes_of(group);
  const double steps = ring_steps(fabric, group, nodes);
  const double a_byte = (group.size - 1.0) / group.size / ring_rate(fabric, group, nodes);
  const double more = spread(fabric, nodes);
  return {(largest * group.size * a_byte + kPaddedStart * steps) * more,
          (total * a_byte / kGroupedRate + steps) * more};
}

}  // namespace nereus::cost
