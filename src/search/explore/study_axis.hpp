// What a study may vary on a cluster: one resource, or one size, of every node alike.
//
//   Cluster c = load_cluster("128xdgx-a100-80");
//   set(c, Axis::kNetworkBandwidth, 50e9);       // 50 GB/s a device, one way
//   get(c, Axis::kNetworkBandwidth);             // 50e9
//
// Values are SI numbers of ONE DEVICE wherever that makes sense (network, expanded memory), so that
// they mean the same whatever the size of a node. Changing the devices of a node keeps each
// device's share of the node's network, memory tiers and price. `peak` is the 16-bit rate; the
// other precisions keep their ratio to it. `memory` keeps the share of it that a program finds.
//
// Axes are set in the order of the enumeration, sizes first, so that the order in a file does not
// matter.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster.hpp"

namespace nereus::explore {

enum class Axis {
  kDevicesPerNode,
  kNodes,
  kDevices,  // all of them; nodes = devices / devices per node
  kPeak,
  kMemory,
  kMemoryBandwidth,
  kExpandedMemory,  // 0 = none
  kExpandedBandwidth,
  kExpandedLatency,
  kInsideBandwidth,
  kInsideLatency,
  kInsideTopology,
  kNetworkBandwidth,
  kNetworkLatency,
  kNetworkTopology,
  kOversubscription,
  kPrice,  // of one device for an hour
  kPower,  // of one device, rated
};
inline constexpr int kNumAxes = 18;

enum class AxisUnit {
  kCount,
  kRatio,
  kBytes,
  kBytesPerSecond,
  kFlopsPerSecond,
  kSeconds,
  kUsdPerHour,
  kWatts,
  kTopology,
};

struct AxisInfo {
  Axis axis;
  std::string_view name;   // "network_bandwidth"
  std::string_view title;  // "network bandwidth"
  AxisUnit unit;
  std::string_view meaning;  // one line
};

const AxisInfo& info(Axis axis);
std::optional<Axis> parse_axis(std::string_view name);
std::vector<std::string> axis_names();

// A topology is the number of its kind.
double get(const cluster::Cluster& cluster, Axis axis);
void set(cluster::Cluster& cluster, Axis axis, double value);

// Whether more of it can only help: what sensitivities and break-even prices are asked of.
bool is_resource(Axis axis);

// "80 GB/s", "1,024", "torus".
std::string value_text(Axis axis, double value);

}  // namespace nereus::explore
