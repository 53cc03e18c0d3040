// The network between two ranks, and how a set of ranks is distributed over the machine: all costs
// of communication depend on these. Neither function allocates.
//
// Two ranks of one fast domain (a node, or an NVLink domain that spans nodes) are connected at
// level 0: the bandwidth is that of one device into this level. Two ranks of a node whose fast
// domain is smaller than the node (bridged pairs) are connected by the host link, which is also
// level 0. All others are connected at the lowest network level k that joins both nodes, and one
// device gets
//
//   min over both sides (min(node network, bandwidth of levels 1..k) / devices of that node)
//     / product of the oversubscription of levels 1..k-1, and of k if it is the outermost
//
// because all devices of a node usually send at the same time. In mixed clusters the slower side
// decides.
//
//   Link l = link_between(c, 0, 8);                       // 16xdgx-h100: 50 GB/s, level 1
//   GroupShape s = shape_of_range(c, 0, 16, 8);           // ranks 0, 8, ... 120: 16 domains of 1
#pragma once

#include <span>

#include "base/units.hpp"
#include "cluster/cluster.hpp"

namespace nereus::cluster {

struct Link {
  BytesPerSecond bandwidth{};  // one way, per device, when all devices of its node send at once
  Seconds latency{};
  int level = 0;  // 0 = inside the fast domain or the node, k = Cluster::levels[k - 1]
  bool operator==(const Link&) const = default;
};

// The ranks must exist. For equal ranks, the bandwidth is that of the device's memory.
Link link_between(const Cluster& cluster, int rank_a, int rank_b);

struct GroupShape {
  int num_ranks = 0;
  int num_nodes = 0;    // nodes with at least one of the ranks
  int num_domains = 0;  // number of fast domains with one; fewer than num_nodes on NVL72
  int min_per_domain = 0;
  int max_per_domain = 0;
  int min_per_node = 0;
  int max_per_node = 0;
  Link inside;   // slowest between two ranks of one domain; zero if no domain has two
  Link between;  // slowest between two ranks of different domains; zero if there is only one domain

  bool regular() const { return min_per_domain == max_per_domain; }
  const Link& slowest() const { return num_domains > 1 ? between : inside; }
  bool operator==(const GroupShape&) const = default;
};

// `ranks` must be in ascending order.
GroupShape shape_of(const Cluster& cluster, std::span<const int> ranks);

// Ranks first, first + stride, ...; takes constant time on a uniform cluster if the range is evenly
// distributed over the domains, else as long as shape_of.
GroupShape shape_of_range(const Cluster& cluster, int first, int count, int stride);

// Computes shape_of() for ranks that are given one at a time, in ascending order.
class ShapeBuilder {
 public:
  explicit ShapeBuilder(const Cluster& cluster) : cluster_(cluster) {}
  void add(int rank);
  GroupShape finish() const;

 private:
  const Cluster& cluster_;
  GroupShape shape_;
  int first_rank_ = -1, last_rank_ = -1;
  int node_ = -1, domain_ = -1;  // of the last rank
  int in_node_ = 0, in_domain_ = 0;
};

}  // namespace nereus::cluster
