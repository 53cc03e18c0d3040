// Machines: nodes of devices, joined by network levels. A cluster is a list of groups of equal nodes; ranks are
// numbered group by group, node by node, device by device.
//
//   Cluster c = catalogue.parse("16xdgx-h100");
//   c.num_devices();                       // 128
//   const NodeGroup& g = c.group_of(rank);  // which kind of node rank sits in
//
// A network level joins `size` children (devices for level 0, else whole lower levels) with `bandwidth` one way
// per device at level 0 and per NODE above; `oversubscription` divides what leaves the level.
#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"
#include "cluster/device.hpp"

namespace nereus::cluster {

enum class LinkKind { kNvlink, kNvswitch, kPcie, kXgmi, kIci, kInfiniband, kEthernet, kOther };
enum class TopologyKind { kSwitch, kRing, kFullyConnected, kTorus, kFatTree, kDragonfly };

struct NetworkLevel {
  std::string name;  // "nvlink", "infiniband"
  LinkKind kind = LinkKind::kOther;
  TopologyKind topology = TopologyKind::kSwitch;
  int size = 0;                // children joined; 0 on the outermost level = as many as there are
  BytesPerSecond bandwidth{};  // one way; per device at level 0, per node above
  Seconds latency{};
  double oversubscription = 1;
  bool operator==(const NetworkLevel&) const = default;
};

struct MemoryTier {
  std::string name;  // "host", "nvme", "expanded"
  Bytes capacity{};
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
  NetworkLevel inside;              // level 0
  BytesPerSecond network{};         // one way, whole node; 0 = not stated
  Seconds network_latency{};
  LinkKind network_kind = LinkKind::kOther;
  int nvlink_domain = 0;            // devices that share the fast level; may exceed num_devices (GB200 NVL72)
  std::vector<MemoryTier> tiers;    // beyond device memory: host, nvme
  int vcpus = 0;
  Price price;
  std::string source;
  bool operator==(const Node&) const = default;
};

struct NodeGroup {
  int count = 0;
  Node node;
  bool operator==(const NodeGroup&) const = default;
};

struct Cluster {
  std::string name;
  std::vector<NodeGroup> groups;
  std::vector<NetworkLevel> levels;  // above the node; levels[0] joins nodes

  int num_devices() const;
  int num_nodes() const;
  bool uniform() const { return groups.size() == 1; }
  int group_index_of(int rank) const;  // which group holds this rank
  int node_of(int rank) const;         // node number over all groups
  bool operator==(const Cluster&) const = default;
};

}  // namespace nereus::cluster
