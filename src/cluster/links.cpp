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

Link link_between_seats(const Cluster& cluster, const Seat& a, const Seat& b) {
  if (a.domain_index == b.domain_index) return inside_link(*a.node, true);
  if (a.node_index == b.node_index) return inside_link(*a.node, false);
  return outside_link(cluster, a, b);
}

// Keeps the worse of both in each respect, so that the result bounds every pair.
void slow_down(Link& slowest, const Link& link) {
  if (slowest.bandwidth.value <= 0 || link.bandwidth < slowest.bandwidth)
    slowest.bandwidth = link.bandwidth;
  slowest.latency = std::max(slowest.latency, link.latency);
  slowest.level = std::max(slowest.level, link.level);
}

void widen(int& min, int& max, int count) {
  min = max == 0 ? count : std::min(min, count);
  max = std::max(max, count);
}

}  // namespace

Link link_between(const Cluster& cluster, int rank_a, int rank_b) {
  const Seat a = seat_of(cluster, rank_a);
  if (rank_a == rank_b) return {a.node->device.memory_bandwidth, Seconds{}, 0};
  return link_between_seats(cluster, a, seat_of(cluster, rank_b));
}

void ShapeBuilder::add(int rank) {
  NEREUS_CHECK(rank > last_rank_, "ranks must ascend");
  const Seat seat = seat_of(cluster_, rank);
  if (last_rank_ >= 0) {
    const Link link = link_between_seats(cluster_, seat_of(cluster_, last_rank_), seat);
    slow_down(seat.domain_index == domain_ ? shape_.inside : shape_.between, link);
  } else {
    first_rank_ = rank;
  }
  if (seat.node_index != node_) {
    if (in_node_ > 0) widen(shape_.min_per_node, shape_.max_per_node, in_node_);
    ++shape_.num_nodes;
    in_node_ = 0;
  }
  if (seat.domain_index != domain_) {
    if (in_domain_ > 0) widen(shape_.min_per_domain, shape_.max_per_domain, in_domain_);
    ++shape_.num_domains;
    in_domain_ = 0;
  }
  node_ = seat.node_index;
  domain_ = seat.domain_index;
  last_rank_ = rank;
  ++in_node_;
  ++in_domain_;
  ++shape_.num_ranks;
}

GroupShape ShapeBuilder::finish() const {
  GroupShape shape = shape_;
  if (shape.num_ranks == 0) return shape;
  widen(shape.min_per_node, shape.max_per_node, in_node_);
  widen(shape.min_per_domain, shape.max_per_domain, in_domain_);
  // A ring closes from the last rank to the first, over the highest level that the set spans.
  if (shape.num_domains > 1)
    slow_down(shape.between, link_between(cluster_, first_rank_, last_rank_));
  return shape;
}

GroupShape shape_of(const Cluster& cluster, std::span<const int> ranks) {
  ShapeBuilder builder(cluster);
  for (const int rank : ranks) builder.add(rank);
  return builder.finish();
}

namespace {

// The number of the `count` ranks in each block of `block` ranks, if every block with any of them
// has the same number; 0 otherwise.
int even_share(int first, int count, int stride, int block) {
  if (stride >= block) return 1;
  if (block % stride != 0 || first % block >= stride) {
    // not aligned: even only if all are in one block
    return first / block == (first + (count - 1) * stride) / block ? count : 0;
  }
  const int share = block / stride;
  if (count <= share) return count;
  return count % share == 0 ? share : 0;
}

}  // namespace

GroupShape shape_of_range(const Cluster& cluster, int first, int count, int stride) {
  NEREUS_CHECK(count >= 0 && stride > 0, "a range of ranks needs a positive stride");
  NEREUS_CHECK(!cluster.groups.empty(), "a cluster has nodes");
  const Node& node = cluster.groups.front().node;
  const int last = first + (count - 1) * stride;
  const int per_node = count > 0 ? even_share(first, count, stride, node.num_devices) : 0;
  const int per_domain = count > 0 ? even_share(first, count, stride, node.domain()) : 0;
  if (!cluster.uniform() || per_node == 0 || per_domain == 0 || node.domain() < node.num_devices) {
    ShapeBuilder builder(cluster);
    for (int i = 0; i < count; ++i) builder.add(first + i * stride);
    return builder.finish();
  }
  GroupShape shape;
  shape.num_ranks = count;
  shape.num_nodes = count / per_node;
  shape.num_domains = count / per_domain;
  shape.min_per_node = shape.max_per_node = per_node;
  shape.min_per_domain = shape.max_per_domain = per_domain;
  if (per_domain > 1) shape.inside = link_between(cluster, first, first + stride);
  if (shape.num_domains > 1) shape.between = link_between(cluster, first, last);
  return shape;
}

}  // namespace nereus::cluster
