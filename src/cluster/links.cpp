#include "cluster/links.hpp"

#include <algorithm>
#include <cstdint>

#include "base/error.hpp"

namespace nereus::cluster {

namespace {

// The position of a rank. Domains are numbered over all groups: a domain never spans groups.
struct Seat {
  const Node* node = nullptr;
  int node_index = 0;
  int domain_index = 0;
};

Seat seat_of(const Cluster& cluster, int rank) {
  NEREUS_CHECK(rank >= 0, "ranks count from 0");
  int nodes_before = 0;
  int domains_before = 0;
  for (const NodeGroup& group : cluster.groups) {
    const int devices = group.num_devices();
    if (rank < devices)
      return {&group.node, nodes_before + rank / group.node.num_devices,
              domains_before + rank / group.node.domain()};
    rank -= devices;
    nodes_before += group.count;
    domains_before += (devices - 1) / group.node.domain() + 1;
  }
  check_failed("rank < num_devices()", __FILE__, __LINE__, "no such rank in the cluster");
}

Link inside_link(const Node& node, bool same_domain) {
  BytesPerSecond bandwidth = node.inside.bandwidth / node.inside.oversubscription;
  if (!same_domain) bandwidth = std::min(bandwidth, node.device.host_link);
  return {bandwidth, node.inside.latency, 0};
}

// The rate that one device of the node gets up to and through levels[0..top].
BytesPerSecond share_of(const Node& node, const Cluster& cluster, size_t top) {
  BytesPerSecond rate = node.network;
  for (size_t k = 0; k <= top && k < cluster.levels.size(); ++k) {
    const BytesPerSecond limit = cluster.levels[k].bandwidth;
    if (limit.value > 0) rate = rate.value > 0 ? std::min(rate, limit) : limit;
  }
  return rate / node.num_devices;
}

// Index of the lowest level that joins two nodes; the outermost joins all.
size_t meeting_level(const Cluster& cluster, int node_a, int node_b) {
  const size_t num_levels = cluster.levels.size();
  std::int64_t a = node_a;
  std::int64_t b = node_b;
  for (size_t k = 0; k + 1 < num_levels; ++k) {
    const int size = cluster.levels[k].size;
    if (size <= 0) return k;
    a /= size;
    b /= size;
    if (a == b) return k;
  }
  return num_levels > 0 ? num_levels - 1 : 0;
}

Link outside_link(const Cluster& cluster, const Seat& a, const Seat& b) {
  const size_t top = meeting_level(cluster, a.node_index, b.node_index);
  Link link;
  link.level = static_cast<int>(top) + 1;
  link.bandwidth = std::min(share_of(*a.node, cluster, top), share_of(*b.node, cluster, top));
  link.latency = std::max(a.node->network_latency, b.node->network_latency);
  if (top < cluster.levels.size()) {
    // The way through an outer level passes the inner ones: it cannot be quicker than they are.
    Seconds latency{};
    for (size_t k = 0; k <= top; ++k) {
      latency = std::max(latency, cluster.levels[k].latency);
      if (k < top || k + 1 == cluster.levels.size())
        link.bandwidth /= cluster.levels[k].oversubscription;
    }
    if (latency.value > 0) link.latency = latency;
  }
  return link;
}

}  // namespace

Link link_between(const Cluster& cluster, int rank_a, int rank_b) {
  const Seat a = seat_of(cluster, rank_a);
  if (rank_a == rank_b) return {a.node->device.memory_bandwidth, Seconds{}, 0};
  const Seat b = seat_of(cluster, rank_b);
  if (a.domain_index == b.domain_index) return inside_link(*a.node, true);
  if (a.node_index == b.node_index) return inside_link(*a.node, false);
  return outside_link(cluster, a, b);
}

}  // namespace nereus::cluster
