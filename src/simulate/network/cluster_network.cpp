#include "simulate/network/cluster_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.hpp"

namespace nereus::simulate {

namespace {

using cluster::Cluster;
using cluster::NetworkLevel;
using cluster::Node;
using cluster::TopologyKind;

constexpr const char* kHint = "write it as a network file: --network FILE";

// n as three factors, as even as can be, the largest first.
std::array<int, 3> near_cube(int n) {
  std::array<int, 3> best{n, 1, 1};
  const auto sum = [](const std::array<int, 3>& f) { return std::int64_t{f[0]} + f[1] + f[2]; };
  for (int c = 1; c <= static_cast<int>(std::cbrt(n)) + 1; ++c) {
    if (n % c != 0) continue;
    for (int b = c; std::int64_t{b} * b <= n / c; ++b) {
      if (n / c % b != 0) continue;
      const std::array<int, 3> factors{n / c / b, b, c};
      if (sum(factors) < sum(best)) best = factors;
    }
  }
  return best;
}

// Dimensions of `size` ranks that each send `bandwidth` in all.
void add_level(std::vector<Dimension>& dimensions, TopologyKind topology, int size,
               double bandwidth, double latency) {
  if (size == 1) return;
  Dimension d{.size = size, .bandwidth = bandwidth, .latency = latency};
  switch (topology) {
    case TopologyKind::kRing:
      d.kind = DimensionKind::kRing;
      d.bandwidth = bandwidth / 2;
      break;
    case TopologyKind::kFullyConnected:
      d.kind = DimensionKind::kFullyConnected;
      d.bandwidth = bandwidth / (size - 1);
      break;
    case TopologyKind::kTorus:
      d.kind = DimensionKind::kRing;
      d.bandwidth = bandwidth / 6;
      for (const int part : near_cube(size)) {
        d.size = part;
        if (part > 1) dimensions.push_back(d);
      }
      return;
    case TopologyKind::kDragonfly:
      throw_input_error("network.not-stated",
                        "how a dragonfly is divided into groups is not "
                        "stated in a cluster",
                        {}, kHint);
    default:  // switch, or a fat tree that never blocks
      d.kind = dimensions.empty() ? DimensionKind::kSwitch : DimensionKind::kRails;
      d.latency = latency / 2;
  }
  dimensions.push_back(d);
}

bool switched(const NetworkLevel& level) {
  return level.topology == TopologyKind::kSwitch || level.topology == TopologyKind::kFatTree;
}

double or_else(double value, double otherwise) { return value > 0 ? value : otherwise; }

// The nodes (or the domains that span several), `units` of them.
void add_nodes(std::vector<Dimension>& dimensions, const Cluster& cluster, const Node& node,
               int units, double nodes_a_unit) {
  const std::vector<NetworkLevel>& levels = cluster.levels;
  const bool all_switched = std::all_of(levels.begin(), levels.end(), switched);
  if (levels.size() > 2 || (levels.size() == 2 && !all_switched))
    throw_input_error("network.levels",
                      fmt::format("{} network levels above the nodes; one of any kind or two of "
                                  "switches are simulated",
                                  levels.size()),
                      {}, kHint);
  const double own = node.network.value;
  const double inner =
      levels.empty() ? own : std::min(own, or_else(levels[0].bandwidth.value, own));
  const double outermost = levels.empty() ? 1 : levels.back().oversubscription;
  double latency = levels.empty() ? 0 : levels[0].latency.value;
  latency = or_else(latency, node.network_latency.value);
  if (levels.size() < 2) {
    add_level(dimensions, levels.empty() ? TopologyKind::kSwitch : levels[0].topology, units,
              inner / outermost / node.num_devices, latency);
    return;
  }
  const double outer = std::min(inner, or_else(levels[1].bandwidth.value, inner));
  add_level(dimensions, TopologyKind::kSwitch, units, inner / node.num_devices, latency);
  if (units == 1) return;
  const double leaf = levels[0].size / nodes_a_unit;
  if (leaf < 1 || leaf != std::floor(leaf))
    throw_input_error("network.levels",
                      fmt::format("a level of {} does not hold whole domains of {:g}",
                                  counted(levels[0].size, "node"), nodes_a_unit),
                      {}, kHint);
  Dimension& d = dimensions.back();
  if (leaf >= units) return;  // one switch reaches all
  if (d.kind == DimensionKind::kSwitch) d.kind = DimensionKind::kFatTree;
  d.leaf = static_cast<int>(leaf);
  d.oversubscription = levels[0].oversubscription * (inner / outer) * outermost;
  d.latency = std::max(latency, levels[1].latency.value) / 4;
}

}  // namespace

Network network_of(const Cluster& cluster) {
  if (!cluster.uniform())
    throw_input_error(
        "network.mixed",
        fmt::format("a cluster with {} kinds of node has no single network", cluster.groups.size()),
        {}, "one kind of node, or a network file");
  const Node& node = cluster.groups.front().node;
  const int devices = cluster.num_devices();
  const int domain = std::min(node.domain(), devices);
  const int unit = std::max(domain, node.num_devices);  // devices below the nodes' network
  if (devices % unit != 0 || unit % domain != 0)
    throw_input_error(
        "network.domains",
        fmt::format("{} cannot be divided into domains of {}", counted(devices, "device"), domain),
        {}, fmt::format("a multiple of {} devices", unit));
  std::vector<Dimension> dimensions;
  const double inside = node.inside.bandwidth.value / node.inside.oversubscription;
  const double latency = node.inside.latency.value;
  add_level(dimensions, node.inside.topology, domain, inside, latency);
  if (domain < node.num_devices) {
    Dimension host{.size = node.num_devices / domain,
                   .bandwidth = inside > 0 ? std::min(inside, node.device.host_link.value)
                                           : node.device.host_link.value,
                   .latency = latency / 2};
    dimensions.push_back(host);
  }
  if (devices > unit)
    add_nodes(dimensions, cluster, node, devices / unit,
              static_cast<double>(unit) / node.num_devices);
  if (dimensions.empty()) dimensions.push_back({.size = 1, .bandwidth = 1});  // one device
  return Network(std::move(dimensions));
}

}  // namespace nereus::simulate
