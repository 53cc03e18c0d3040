// The axes of a study: the resources and sizes of a cluster that may vary, equally on all nodes.
//
//   Cluster c = load_cluster("128xdgx-a100-80");
//   set(c, Axis::kNetworkBandwidth, 50e9);       // 50 GB/s per device, one way
//   get(c, Axis::kNetworkBandwidth);             // 50e9
//
// Values are SI numbers PER DEVICE if that makes sense (network, expanded memory), so that they
// have the same meaning for every size of node. Changing the number of devices per node keeps each
// device's share of the node's network, memory tiers and price. `peak` is the 16-bit rate; the
// other precisions keep their ratio to it. Changing `memory` keeps the share of memory that a
// program can use.
//
// Axes are set in the order of the enumeration, sizes first. So the order in a file does not
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
  kDevices,  // total; nodes = devices / devices per node
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
  kPrice,  // per device and hour
  kPower,  // rated, per device
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

// A topology is given as the number of its kind.
double get(const cluster::Cluster& cluster, Axis axis);
void set(cluster::Cluster& cluster, Axis axis, double value);

// Whether more of the axis can only help. Sensitivities and break-even prices exist only for
// resources.
bool is_resource(Axis axis);

// "80 GB/s", "1,024", "torus".
std::string value_text(Axis axis, double value);

}  // namespace nereus::explore
