// Machines: nodes with devices, connected by network levels. A cluster is a list of groups of equal
// nodes; ranks are numbered group by group, node by node, device by device.
//
//   Cluster c = load_cluster("16xdgx-h100");                  // cluster/load_cluster.hpp
//   c.num_devices();                                          // 128
//   const Node& n = c.groups[c.group_index_of(rank)].node;    // the kind of node of a rank
//   Link l = link_between(c, 0, 8);                           // cluster/links.hpp
//
// A network level connects `size` children (devices for level 0, nodes for levels[0], whole lower
// levels above) with `bandwidth` one way, per device at level 0 and per NODE above.
// `oversubscription` divides the rate of traffic that leaves the level; on the outermost level,
// which no traffic leaves, it divides the rate of traffic within the level.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "cluster/device.hpp"

namespace nereus::cluster {

enum class LinkKind { kNvlink, kNvswitch, kPcie, kXgmi, kIci, kInfiniband, kEthernet, kOther };
enum class TopologyKind { kSwitch, kRing, kFullyConnected, kTorus, kFatTree, kDragonfly };

std::string_view to_string(LinkKind kind);          // "nvlink", "infiniband", ...
std::string_view to_string(TopologyKind topology);  // "switch", "fully-connected", ...
std::optional<LinkKind> parse_link_kind(std::string_view text);
std::optional<TopologyKind> parse_topology(std::string_view text);
std::vector<std::string> topology_names();

struct NetworkLevel {
  std::string name;  // "nvlink", "infiniband"
  LinkKind kind = LinkKind::kOther;
  TopologyKind topology = TopologyKind::kSwitch;
  int size = 0;                // number of children; 0 on the outermost level = all of them
  BytesPerSecond bandwidth{};  // one way; per device at level 0, per node above; 0 above = the
                               // nodes' own network
  Seconds latency{};           // 0 above = the nodes' own
  double oversubscription = 1;
  bool operator==(const NetworkLevel&) const = default;
};

struct MemoryTier {
  std::string name;            // "host", "nvme", "expanded"
  Bytes capacity{};            // of the whole node
  BytesPerSecond bandwidth{};  // per device, one way
  Seconds latency{};
  bool operator==(const MemoryTier&) const = default;
};

struct Price {
  UsdPerHour on_demand{};  // per node; 0 = unknown
  UsdPerHour spot{};       // 0 = unknown
  std::string date;        // ISO
  std::string source;
  std::string region;
  bool operator==(const Price&) const = default;
};

struct Node {
  std::string name;  // "dgx-h100", "p4d.24xlarge"
  std::string provider;
  Device device;
  int num_devices = 0;
  NetworkLevel inside;       // level 0; bandwidth 0 = not stated
  BytesPerSecond network{};  // one way, whole node; 0 = not stated
  Seconds network_latency{};
  LinkKind network_kind = LinkKind::kOther;
  // Number of devices that share the fast level: may exceed num_devices (GB200 NVL72), or be a part
  // of them (bridged pairs); 0 = num_devices.
  int nvlink_domain = 0;
  std::vector<MemoryTier> tiers;  // memory beyond the device: host, nvme
  int vcpus = 0;
  Price price;
  std::string source;

  int domain() const { return nvlink_domain > 0 ? nvlink_domain : num_devices; }
  const MemoryTier* tier(std::string_view tier_name) const;  // nullptr if there is none
  bool operator==(const Node&) const = default;
};

struct NodeGroup {
  int count = 0;
  Node node;
  int num_devices() const { return count * node.num_devices; }
  bool operator==(const NodeGroup&) const = default;
};

struct Cluster {
  std::string name;
  std::vector<NodeGroup> groups;
  std::vector<NetworkLevel> levels;  // above the node; levels[0] connects nodes

  int num_devices() const;
  int num_nodes() const;
  bool uniform() const { return groups.size() == 1; }
  int group_index_of(int rank) const;  // the group of this rank
  int node_of(int rank) const;         // number of its node, counted over all groups
  const Node& node_at(int rank) const { return groups[size_t(group_index_of(rank))].node; }
  const Device& device_at(int rank) const { return node_at(rank).device; }
  UsdPerHour price_on_demand() const;  // of all nodes; 0 if one is unknown
  bool operator==(const Cluster&) const = default;
};

}  // namespace nereus::cluster
