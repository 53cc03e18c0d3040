// The resources that one rank gets from a kind of node: its device, the stack's numbers for that
// device, the rates of its links, and the offload tiers.
//
//   link     = slowest link between two devices of the node x link_efficiency
//   network  = what one device gets of the node's network when all its devices send at once, over
//              the outermost level that the cluster needs (cluster/links.hpp) x network_efficiency
//   kinds    = topology of the node's level, and of the outermost level that the cluster needs
//              If a profile has collectives of the device (cost/measured_network.hpp), the measured
//              rates and latencies are used instead.
//   latency  = the stack's, or that of the wire if it is longer (two regions, slow Ethernet)
//   tier     = the tier's rate. Host memory and drives are limited by the device's host link, too;
//              16 GB/s (PCIe 3.0 x16) if neither is stated. Expanded memory (CXL or NVLink) does
//              not use that link. The latency is per transfer. The capacity is divided evenly among
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

// A group of ranks and the fabric between them: everything that the time of a collective depends
// on.
struct Wire {
  Fabric fabric;
  Group group;
};

struct TierRoom {
  double rate = 0;      // bytes per second, one way, per device
  double capacity = 0;  // bytes, per device
  double latency = 0;   // seconds, per transfer
  // Time to pass `bytes` in `transfers` one after the other; 0 if there is no such tier.
  double seconds(double bytes, double transfers) const {
    return rate > 0 ? bytes / rate + transfers * latency : 0;
  }
};

struct Machine {
  cluster::Device device;
  Parameters parameters;
  Fabric fabric;
  int devices_per_node = 1;
  double memory_rate = 0;  // bytes per second that element-wise kernels reach in practice
  // Measured seconds for the optimizer to update one parameter; 0: not measured.
  std::array<double, cluster::kNumPrecisions> update{};
  // Below this ratio of the smaller to the larger time, the smooth maximum is the larger one.
  double host_ratio = 0;
  std::array<TierRoom, 4> tiers{};  // by plan::Tier; kDevice is unused

  const TierRoom& tier(plan::Tier t) const { return tiers[static_cast<std::size_t>(t)]; }
  double capacity() const { return device.capacity().value; }  // the memory that a program can use
  // A group of `size` ranks of this kind of node, `stride` apart.
  Wire wire(int size, int stride) const { return {fabric, group_of(size, stride, fabric.domain)}; }
};

// The machine of the cluster's group of nodes with that index.
Machine make_machine(const cluster::Cluster& cluster, int group_index, const Basis& basis);

}  // namespace nereus::cost
