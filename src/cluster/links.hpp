// The link between two ranks, which every communication cost uses. Allocates nothing.
//
// Two ranks of one fast domain (a node, or an NVLink domain that spans nodes) are connected at
// level 0: the bandwidth is that of one device's connection to this level. Two ranks of a node
// whose fast domain is smaller than the node (bridged pairs) are connected by the host link, which
// is also level 0. All others are connected at the lowest network level k that joins both nodes,
// and one device gets
//
//   min over both sides (min(node network, bandwidth of levels 1..k) / devices of that node)
//     / product of the oversubscription of levels 1..k-1, and of k if it is the outermost
//
// because all devices of a node usually send at the same time. In mixed clusters the slower side
// decides.
//
//   Link l = link_between(c, 0, 8);                       // 16xdgx-h100: 50 GB/s, level 1
#pragma once

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

}  // namespace nereus::cluster
