#include "cost/wires.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "cluster/links.hpp"

namespace nereus::cost {

namespace {

bool equal(const Wire& a, const Wire& b) {
  return a.group.size == b.group.size && a.group.per_node == b.group.per_node &&
         a.fabric == b.fabric;
}

// Of two kinds of topology, the one on which most collectives take longest.
cluster::TopologyKind slower(cluster::TopologyKind a, cluster::TopologyKind b) {
  using cluster::TopologyKind;
  for (const TopologyKind kind :
       {TopologyKind::kRing, TopologyKind::kTorus, TopologyKind::kFullyConnected})
    if (a == kind || b == kind) return kind;
  return a;
}

void slow_down(Fabric& slowest, const Fabric& other) {
  slowest.link = std::min(slowest.link, other.link);
  slowest.link_latency = std::max(slowest.link_latency, other.link_latency);
  slowest.network = std::min(slowest.network, other.network);
  slowest.network_latency = std::max(slowest.network_latency, other.network_latency);
  slowest.domain = std::min(slowest.domain, other.domain);
  slowest.jitter = std::max(slowest.jitter, other.jitter);
  slowest.inside = slower(slowest.inside, other.inside);
  slowest.between = slower(slowest.between, other.between);
  slowest.num_joined = std::max(slowest.num_joined, other.num_joined);
}

}  // namespace

Wires::Wires(const cluster::Cluster& cluster, const Basis& basis) : cluster_(cluster) {
  first_ranks_.push_back(0);
  for (std::size_t i = 0; i < cluster.groups.size(); ++i) {
    machines_.push_back(make_machine(cluster, static_cast<int>(i), basis));
    first_ranks_.push_back(first_ranks_.back() + cluster.groups[i].num_devices());
  }
}

int Wires::kind_of(int rank) const {
  NEREUS_CHECK(rank >= 0 && rank < num_ranks(), "ranks exist once a plan passed its check");
  int kind = 0;
  while (rank >= first_ranks_[static_cast<std::size_t>(kind) + 1]) ++kind;
  return kind;
}

bool Wires::same_node(int a, int b) const {
  const int kind = kind_of(a);
  if (kind != kind_of(b)) return false;
  const int first = first_ranks_[kind];
  const int size = machine(kind).devices_per_node;
  return (a - first) / size == (b - first) / size;
}

bool Wires::same_domain(int a, int b) const {
  const int kind = kind_of(a);
  if (kind != kind_of(b)) return false;
  const int first = first_ranks_[kind];
  const int size = machine(kind).fabric.domain;
  return (a - first) / size == (b - first) / size;
}

int Wires::intern(const Wire& wire) {
  for (std::size_t i = 0; i < wires_.size(); ++i)
    if (equal(wires_[i], wire)) return static_cast<int>(i);
  wires_.push_back(wire);
  return static_cast<int>(wires_.size()) - 1;
}

int Wires::none() { return intern(machine(0).wire(1, 1)); }

int Wires::of(plan::RankRange range) {
  if (range.stride < 0) {
    range.first += (range.count - 1) * range.stride;
    range.stride = -range.stride;
  }
  const int kind = kind_of(range.first);
  if (range.count <= 1) return intern(machine(kind).wire(1, 1));
  if (kind == kind_of(range.first + (range.count - 1) * range.stride))
    return intern(machine(kind).wire(range.count, range.stride));
  std::vector<int> ranks;
  for (int i = 0; i < range.count; ++i) ranks.push_back(range.first + i * range.stride);
  return of(ranks);
}

int Wires::of(const std::vector<int>& ranks) {
  NEREUS_CHECK(!ranks.empty(), "a group has at least one rank");
  const int kind = kind_of(ranks.front());
  const int size = static_cast<int>(ranks.size());
  const bool one_kind = kind == kind_of(ranks.back());
  const int stride = size > 1 ? ranks[1] - ranks[0] : 1;
  bool strided = one_kind;
  for (std::size_t i = 2; strided && i < ranks.size(); ++i)
    strided = ranks[i] - ranks[i - 1] == stride;
  if (strided) return intern(machine(kind).wire(size, stride));

  Wire wire;
  wire.fabric = slowest(ranks);
  wire.group = {size, size};
  int in_domain = 1;
  for (std::size_t i = 1; i <= ranks.size(); ++i) {
    if (i < ranks.size() && same_domain(ranks[i - 1], ranks[i])) {
      ++in_domain;
      continue;
    }
    wire.group.per_node = std::min(wire.group.per_node, in_domain);
    in_domain = 1;
  }
  return intern(wire);
}

// In every respect the slowest of all machines in the set, and of the links between two kinds.
Fabric Wires::slowest(const std::vector<int>& ranks) const {
  Fabric fabric = machine_at(ranks.front()).fabric;
  int kind = kind_of(ranks.front());
  double efficiency = machine(kind).parameters.network_efficiency;
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    const int next = kind_of(ranks[i]);
    if (next == kind) continue;
    const Machine& other = machine(next);
    slow_down(fabric, other.fabric);
    efficiency = std::min(efficiency, other.parameters.network_efficiency);
    const cluster::Link link = cluster::link_between(cluster_, ranks[i - 1], ranks[i]);
    if (link.bandwidth.value > 0)
      fabric.network = std::min(fabric.network, link.bandwidth.value * efficiency);
    fabric.network_latency = std::max(fabric.network_latency, link.latency.value);
    kind = next;
  }
  return fabric;
}

int Wires::of_pair(int kind_a, int kind_b, int rank_a, int rank_b, bool in_one_domain) {
  if (kind_a != kind_b)
    return of(std::vector<int>{std::min(rank_a, rank_b), std::max(rank_a, rank_b)});
  return intern({machine(kind_a).fabric, {2, in_one_domain ? 2 : 1}});
}

}  // namespace nereus::cost
