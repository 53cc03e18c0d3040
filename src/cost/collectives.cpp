#include "cost/collectives.hpp"

#include <algorithm>
#include <cmath>

namespace nereus::cost {

namespace {

int nodes_of(Group group) { return (group.size + group.per_node - 1) / group.per_node; }

// Rate at which a ring over the group moves bytes through each rank.
double ring_rate(const Fabric& fabric, Group group) {
  if (nodes_of(group) <= 1) return fabric.link;
  const double out = fabric.network * group.per_node;
  return group.per_node > 1 ? std::min(fabric.link, out) : out;
}

// Rings over many nodes are slower than their wire: each of their steps waits for the slowest of
// all links.
double spread(const Fabric& fabric, int nodes) {
  return nodes > 4 ? 1 + fabric.jitter * std::log2(nodes / 4.0) : 1;
}

double ring_steps(const Fabric& fabric, Group group) {
  const int nodes = nodes_of(group);
  const int outside = nodes > 1 ? nodes - 1 : 0;
  const int inside = group.size - 1 - outside;
  return inside * fabric.link_latency + outside * fabric.network_latency;
}

double tree_steps(const Fabric& fabric, Group group) {
  const int nodes = nodes_of(group);
  const double depth = std::ceil(std::log2(static_cast<double>(nodes)));
  return (group.per_node - 1) * fabric.link_latency + depth * fabric.network_latency;
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
  return (moved / ring_rate(fabric, group) + ring_steps(fabric, group)) *
         spread(fabric, nodes_of(group));
}

double reduce_scatter_seconds(const Fabric& fabric, Group group, double bytes) {
  return all_gather_seconds(fabric, group, bytes);
}

double all_reduce_seconds(const Fabric& fabric, Group group, double bytes) {
  if (group.size <= 1) return 0;
  const double moved = 2 * bytes * (group.size - 1) / group.size;
  const double steps = 2 * std::min(ring_steps(fabric, group), tree_steps(fabric, group));
  return moved / ring_rate(fabric, group) + steps;
}

double all_to_all_seconds(const Fabric& fabric, Group group, double bytes) {
  if (group.size <= 1) return 0;
  const double inside = bytes * (group.per_node - 1) / group.size;
  const double outside = bytes * (group.size - group.per_node) / group.size;
  const double slow = outside > 0 ? outside / fabric.network : 0;
  const int nodes = nodes_of(group);
  return (std::max(inside / fabric.link, slow) + fabric.link_latency +
          (nodes > 1 ? fabric.network_latency : 0)) *
         spread(fabric, nodes);
}

double dispatch_seconds(const Fabric& fabric, Group group, double bytes, double copies,
                        double once) {
  if (group.size <= 1) return 0;
  if (once <= 0) return all_to_all_seconds(fabric, group, bytes);
  const int nodes = nodes_of(group);
  const double token = bytes / copies;
  // Of one place among `places`: the chance that at least one copy goes there.
  const auto visited = [&](double places) { return 1 - std::pow(1 - 1 / places, copies); };
  const double all_inside = bytes * (group.per_node - 1) / group.size;
  const double all_outside = bytes * (group.size - group.per_node) / group.size;
  // What comes in from other nodes is passed on inside: as much as leaves, on average.
  const double own_node = token * (group.per_node - 1) * visited(group.size);
  const double passed_on =
      nodes > 1 ? token * (nodes - 1) * (group.per_node - 1) * visited(group.size) : 0;
  const double to_nodes = nodes > 1 ? token * (nodes - 1) * visited(nodes) : 0;
  const double inside = all_inside + once * (own_node + passed_on - all_inside);
  const double outside = all_outside + once * (std::min(all_outside, to_nodes) - all_outside);
  return (std::max(inside / fabric.link, outside > 0 ? outside / fabric.network : 0) +
          fabric.link_latency + (nodes > 1 ? fabric.network_latency : 0)) *
         spread(fabric, nodes);
}

double broadcast_seconds(const Fabric& fabric, Group group, double bytes) {
  if (group.size <= 1) return 0;
  return (bytes / ring_rate(fabric, group) + tree_steps(fabric, group)) *
         spread(fabric, nodes_of(group));
}

double send_seconds(const Fabric& fabric, bool same_node, double bytes) {
  return same_node ? bytes / fabric.link + fabric.link_latency
                   : bytes / fabric.network + fabric.network_latency;
}

double all_gather_uneven_seconds(const Fabric& fabric, Group group, double total, double largest) {
  if (group.size <= 1) return 0;
  const double padded = all_gather_seconds(fabric, group, largest * group.size);
  const double grouped = (total / ring_rate(fabric, group) +
                          group.size * (tree_steps(fabric, group) + fabric.link_latency)) *
                         spread(fabric, nodes_of(group));
  return std::min(padded, grouped);
}

}  // namespace nereus::cost
