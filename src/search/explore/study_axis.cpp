#include "search/explore/study_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"
#include "base/format.hpp"
#include "spec/quantity.hpp"

namespace nereus::explore {

using cluster::Cluster;
using cluster::Node;
using cluster::Precision;

namespace {

constexpr std::array<AxisInfo, kNumAxes> kInfos = {{
    {Axis::kDevicesPerNode, "devices_per_node", "devices per node", AxisUnit::kCount,
     "devices that share the fast links of a node (a pod)"},
    {Axis::kNodes, "nodes", "nodes", AxisUnit::kCount, "number of nodes"},
    {Axis::kDevices, "devices", "devices", AxisUnit::kCount,
     "devices of the whole cluster, in nodes of the size they have"},
    {Axis::kPeak, "peak", "peak", AxisUnit::kFlopsPerSecond,
     "16-bit matrix rate of a device; other precisions keep their ratio"},
    {Axis::kMemory, "memory", "memory", AxisUnit::kBytes, "memory of a device"},
    {Axis::kMemoryBandwidth, "memory_bandwidth", "memory bandwidth", AxisUnit::kBytesPerSecond,
     "bandwidth of a device's memory"},
    {Axis::kExpandedMemory, "expanded_memory", "expanded memory", AxisUnit::kBytes,
     "second tier of memory, per device; 0 B = none"},
    {Axis::kExpandedBandwidth, "expanded_bandwidth", "expanded bandwidth",
     AxisUnit::kBytesPerSecond, "bandwidth of a device to its expanded memory, one way"},
    {Axis::kExpandedLatency, "expanded_latency", "expanded latency", AxisUnit::kSeconds,
     "latency of one transfer from or to expanded memory"},
    {Axis::kInsideBandwidth, "inside_bandwidth", "inside bandwidth", AxisUnit::kBytesPerSecond,
     "bandwidth of a device into its node's links, one way"},
    {Axis::kInsideLatency, "inside_latency", "inside latency", AxisUnit::kSeconds,
     "latency of the node's links"},
    {Axis::kInsideTopology, "inside_topology", "inside topology", AxisUnit::kTopology,
     "how the devices of a node are joined"},
    {Axis::kNetworkBandwidth, "network_bandwidth", "network bandwidth", AxisUnit::kBytesPerSecond,
     "bandwidth of a device out of its node, one way"},
    {Axis::kNetworkLatency, "network_latency", "network latency", AxisUnit::kSeconds,
     "latency between nodes"},
    {Axis::kNetworkTopology, "network_topology", "network topology", AxisUnit::kTopology,
     "how the nodes are joined"},
    {Axis::kOversubscription, "oversubscription", "oversubscription", AxisUnit::kRatio,
     "oversubscription of the outermost network level; 1 = none"},
    {Axis::kPrice, "price", "price", AxisUnit::kUsdPerHour,
     "price of one device with its part of the node, per hour"},
    {Axis::kPower, "power", "power", AxisUnit::kWatts, "rated power of one device"},
}};

Node& node_of(Cluster& cluster) { return cluster.groups.front().node; }
const Node& node_of(const Cluster& cluster) { return cluster.groups.front().node; }

// The 16-bit precision if the device supports it.
Precision peak_precision(const cluster::Device& device) {
  for (const Precision p : {Precision::kBf16, Precision::kFp16, Precision::kFp32})
    if (device.has(p)) return p;
  return Precision::kFp64;
}

const cluster::MemoryTier* expanded(const Cluster& cluster) {
  return node_of(cluster).tier("expanded");
}

cluster::MemoryTier& add_expanded(Cluster& cluster) {
  auto& tiers = node_of(cluster).tiers;
  const auto known = std::find_if(tiers.begin(), tiers.end(), [](const cluster::MemoryTier& t) {
    return t.name == "expanded";
  });
  if (known != tiers.end()) return *known;
  tiers.push_back({"expanded", {}, {}, {}});
  return tiers.back();
}

void set_devices_per_node(Cluster& cluster, int count) {
  Node& node = node_of(cluster);
  const double ratio = static_cast<double>(count) / node.num_devices;
  node.num_devices = count;
  node.nvlink_domain = 0;
  node.network *= ratio;
  for (cluster::NetworkLevel& level : cluster.levels) level.bandwidth *= ratio;
  for (cluster::MemoryTier& tier : node.tiers) tier.capacity *= ratio;
  node.price.on_demand *= ratio;
  node.price.spot *= ratio;
}

void set_network(Cluster& cluster, double per_device) {
  Node& node = node_of(cluster);
  const double whole = per_device * node.num_devices;
  // Levels that limit nothing stay so; the others follow the nodes.
  for (cluster::NetworkLevel& level : cluster.levels)
    if (level.bandwidth.value > 0)
      level.bandwidth.value =
          node.network.value > 0 ? level.bandwidth.value * whole / node.network.value : whole;
  node.network.value = whole;
}

void set_peak(Cluster& cluster, double value) {
  cluster::Device& device = node_of(cluster).device;
  const double ratio = value / device.peak_of(peak_precision(device)).value;
  for (FlopsPerSecond& peak : device.peak) peak *= ratio;
}

void set_memory(Cluster& cluster, double value) {
  cluster::Device& device = node_of(cluster).device;
  device.usable_memory *= value / device.memory.value;
  device.memory.value = value;
}

}  // namespace

const AxisInfo& info(Axis axis) { return kInfos[static_cast<std::size_t>(axis)]; }

std::optional<Axis> parse_axis(std::string_view name) {
  for (const AxisInfo& own : kInfos)
    if (own.name == name) return own.axis;
  return std::nullopt;
}

std::vector<std::string> axis_names() {
  std::vector<std::string> names;
  for (const AxisInfo& own : kInfos) names.emplace_back(own.name);
  return names;
}

double get(const Cluster& cluster, Axis axis) {
  const Node& node = node_of(cluster);
  const double devices = std::max(1, node.num_devices);
  switch (axis) {
    case Axis::kDevicesPerNode:
      return node.num_devices;
    case Axis::kNodes:
      return cluster.groups.front().count;
    case Axis::kDevices:
      return cluster.num_devices();
    case Axis::kPeak:
      return node.device.peak_of(peak_precision(node.device)).value;
    case Axis::kMemory:
      return node.device.memory.value;
    case Axis::kMemoryBandwidth:
      return node.device.memory_bandwidth.value;
    case Axis::kExpandedMemory:
      return expanded(cluster) != nullptr ? expanded(cluster)->capacity.value / devices : 0;
    case Axis::kExpandedBandwidth:
      return expanded(cluster) != nullptr ? expanded(cluster)->bandwidth.value : 0;
    case Axis::kExpandedLatency:
      return expanded(cluster) != nullptr ? expanded(cluster)->latency.value : 0;
    case Axis::kInsideBandwidth:
      return node.inside.bandwidth.value;
    case Axis::kInsideLatency:
      return node.inside.latency.value;
    case Axis::kInsideTopology:
      return static_cast<double>(node.inside.topology);
    case Axis::kNetworkBandwidth:
      return node.network.value / devices;
    case Axis::kNetworkLatency:
      return node.network_latency.value;
    case Axis::kNetworkTopology:
      return cluster.levels.empty() ? 0 : static_cast<double>(cluster.levels.back().topology);
    case Axis::kOversubscription:
      return cluster.levels.empty() ? 1 : cluster.levels.back().oversubscription;
    case Axis::kPrice:
      return node.price.on_demand.value / devices;
    case Axis::kPower:
      return node.device.power.value;
  }
  return 0;
}

void set(Cluster& cluster, Axis axis, double value) {
  NEREUS_CHECK(cluster.uniform(), "axes are for clusters of one kind of node");
  Node& node = node_of(cluster);
  const auto count = static_cast<int>(std::lround(value));
  switch (axis) {
    case Axis::kDevicesPerNode:
      return set_devices_per_node(cluster, count);
    case Axis::kNodes:
      cluster.groups.front().count = count;
      return;
    case Axis::kDevices:
      cluster.groups.front().count = count / node.num_devices;
      return;
    case Axis::kPeak:
      return set_peak(cluster, value);
    case Axis::kMemory:
      return set_memory(cluster, value);
    case Axis::kMemoryBandwidth:
      node.device.memory_bandwidth.value = value;
      return;
    case Axis::kExpandedMemory:
      if (value > 0)
        add_expanded(cluster).capacity.value = value * node.num_devices;
      else
        std::erase_if(node.tiers,
                      [](const cluster::MemoryTier& t) { return t.name == "expanded"; });
      return;
    case Axis::kExpandedBandwidth:
      // No effect without the tier: capacity 0 may be a value of a study.
      if (expanded(cluster) != nullptr) add_expanded(cluster).bandwidth.value = value;
      return;
    case Axis::kExpandedLatency:
      if (expanded(cluster) != nullptr) add_expanded(cluster).latency.value = value;
      return;
    case Axis::kInsideBandwidth:
      node.inside.bandwidth.value = value;
      return;
    case Axis::kInsideLatency:
      node.inside.latency.value = value;
      return;
    case Axis::kInsideTopology:
      node.inside.topology = static_cast<cluster::TopologyKind>(count);
      return;
    case Axis::kNetworkBandwidth:
      return set_network(cluster, value);
    case Axis::kNetworkLatency:
      node.network_latency.value = value;
      for (cluster::NetworkLevel& level : cluster.levels)
        if (level.latency.value > 0) level.latency.value = value;
      return;
    case Axis::kNetworkTopology:
      if (!cluster.levels.empty())
        cluster.levels.back().topology = static_cast<cluster::TopologyKind>(count);
      return;
    case Axis::kOversubscription:
      if (!cluster.levels.empty()) cluster.levels.back().oversubscription = value;
      return;
    case Axis::kPrice:
      node.price.on_demand.value = value * node.num_devices;
      return;
    case Axis::kPower:
      node.device.power.value = value;
      return;
  }
}

bool is_resource(Axis axis) {
  switch (axis) {
    case Axis::kPeak:
    case Axis::kMemory:
    case Axis::kMemoryBandwidth:
    case Axis::kExpandedMemory:
    case Axis::kExpandedBandwidth:
    case Axis::kInsideBandwidth:
    case Axis::kNetworkBandwidth:
      return true;
    default:
      return false;
  }
}

namespace {

std::string exact_text(Axis axis, double value) {
  switch (info(axis).unit) {
    case AxisUnit::kCount:
      return format_count(std::llround(value));
    case AxisUnit::kRatio:
      return fmt::format("{:g}", value);
    case AxisUnit::kBytes:
      return value == 0 ? "none" : spec::write_quantity(Bytes{value});
    case AxisUnit::kBytesPerSecond:
      return spec::write_quantity(BytesPerSecond{value});
    case AxisUnit::kFlopsPerSecond:
      return spec::write_quantity(FlopsPerSecond{value});
    case AxisUnit::kSeconds:
      return spec::write_quantity(Seconds{value});
    case AxisUnit::kUsdPerHour:
      return spec::write_quantity(UsdPerHour{value});
    case AxisUnit::kWatts:
      return spec::write_quantity(Watts{value});
    case AxisUnit::kTopology:
      return std::string(to_string(static_cast<cluster::TopologyKind>(std::lround(value))));
  }
  return {};
}

}  // namespace

std::string value_text(Axis axis, double value) {
  // A factor of the cluster's own may leave digits that mean nothing.
  constexpr std::size_t kLong = 14;
  std::string text = exact_text(axis, value);
  if (text.size() > kLong) text = exact_text(axis, std::stod(fmt::format("{:.6g}", value)));
  return text;
}

}  // namespace nereus::explore
