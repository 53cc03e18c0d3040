// What one kind of node offers a rank: its device, the stack's numbers for that device, the rates
// of its links, and the memory beyond the device.
//
//   link     = slowest link between two devices of the node x link_efficiency
//   network  = what one device gets of the node's network when all its devices send at once, over
//              the outermost level that the cluster needs (cluster/links.hpp) x network_efficiency
//   kinds    = of the node's own level, and of the outermost level that the cluster needs
//              Both, and their latencies, are what was measured where a profile has collectives of
//              the device (cost/measured_network.hpp).
//   latency  = the stack's, or the wire's own where that is longer (two regions, slow Ethernet)
//   tier     = the tier's rate; of host memory and drives at most the device's host link, which
//              expanded memory does not pass (CXL or NVLink); 16 GB/s (PCIe 3.0 x16) where nothing
//              is stated. Its latency is that of one transfer. Its capacity is divided evenly among
//              the node's devices.
//
//   Machine m = make_machine(cluster, 0, basis);
//   Wire w = m.wire(d.dp * d.cp, d.tp);            // the data group: that many ranks, tp apart
//   all_reduce_seconds(w.fabric, w.group, bytes);
#pragma once

#include <array>

#include "cluster/cluster.hpp"
#include "cost/basis.hpp"
#include "cost/collectives.hpp"
#include "plan/placement.hpp"

namespace nereus::cost {

// A group of ranks and what joins them: all that the time of a collective depends on.
struct Wire {
  Fabric fabric;
  Group group;
};

struct TierRoom {
  double rate = 0;      // bytes per second, one way, of one device
  double capacity = 0;  // bytes, of one device
  double latency = 0;   // seconds, of one transfer
  // `bytes` that pass in `transfers` one after the other; 0 where there is no such tier.
  double seconds(double bytes, double transfers) const {
    return rate > 0 ? bytes / rate + transfers * latency : 0;
  }
};

struct Machine {
  cluster::Device device;
  Parameters parameters;
  Fabric fabric;
  int devices_per_node = 1;
  double memory_rate = 0;  // bytes per second that element-wise kernels reach
  // Seconds in which the optimizer updates one parameter, as measured; 0: not measured.
  std::array<double, cluster::kNumPrecisions> update{};
  double host_ratio = 0;  // below this ratio of the smaller time the smooth maximum is the larger
  std::array<TierRoom, 4> tiers{};  // by plan::Tier; kDevice unused

  const TierRoom& tier(plan::Tier t) const { return tiers[static_cast<std::size_t>(t)]; }
  double capacity() const { return device.capacity().value; }  // what a program finds of it
  // A group of `size` ranks of this kind of node, `stride` apart.
  Wire wire(int size, int stride) const { return {fabric, group_of(size, stride, fabric.domain)}; }
};

// Of the cluster's group of nodes with that index.
Machine make_machine(const cluster::Cluster& cluster, int group_index, const Basis& basis);

}  // namespace nereus::cost
