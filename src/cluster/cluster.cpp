#include "cluster/cluster.hpp"

#include <array>

#include "base/error.hpp"

namespace nereus::cluster {

namespace {

constexpr std::array<std::string_view, 8> kLinkKindNames = {
    "nvlink", "nvswitch", "pcie", "xgmi", "ici", "infiniband", "ethernet", "other"};
constexpr std::array<std::string_view, 6> kTopologyNames = {"switch", "ring",     "fully-connected",
                                                            "torus",  "fat-tree", "dragonfly"};

template <class Enum, size_t kCount>
std::optional<Enum> find_name(const std::array<std::string_view, kCount>& names,
                              std::string_view text) {
  for (size_t i = 0; i < kCount; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace

std::string_view to_string(LinkKind kind) { return kLinkKindNames[static_cast<size_t>(kind)]; }
std::string_view to_string(TopologyKind topology) {
  return kTopologyNames[static_cast<size_t>(topology)];
}
std::optional<LinkKind> parse_link_kind(std::string_view text) {
  return find_name<LinkKind>(kLinkKindNames, text);
}
std::optional<TopologyKind> parse_topology(std::string_view text) {
  return find_name<TopologyKind>(kTopologyNames, text);
}
std::vector<std::string> topology_names() { return {kTopologyNames.begin(), kTopologyNames.end()}; }

const MemoryTier* Node::tier(std::string_view tier_name) const {
  for (const MemoryTier& t : tiers)
    if (t.name == tier_name) return &t;
  return nullptr;
}

int Cluster::num_devices() const {
  int sum = 0;
  for (const NodeGroup& group : groups) sum += group.num_devices();
  return sum;
}

int Cluster::num_nodes() const {
  int sum = 0;
  for (const NodeGroup& group : groups) sum += group.count;
  return sum;
}

int Cluster::group_index_of(int rank) const {
  NEREUS_CHECK(rank >= 0, "ranks count from 0");
  int first = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    first += groups[i].num_devices();
    if (rank < first) return static_cast<int>(i);
  }
  check_failed("rank < num_devices()", __FILE__, __LINE__, "no such rank in the cluster");
}

int Cluster::node_of(int rank) const {
  NEREUS_CHECK(rank >= 0, "ranks count from 0");
  int nodes_before = 0;
  for (const NodeGroup& group : groups) {
    if (rank < group.num_devices()) return nodes_before + rank / group.node.num_devices;
    rank -= group.num_devices();
    nodes_before += group.count;
  }
  check_failed("rank < num_devices()", __FILE__, __LINE__, "no such rank in the cluster");
}

UsdPerHour Cluster::price_on_demand() const {
  UsdPerHour sum{};
  for (const NodeGroup& group : groups) {
    if (group.node.price.on_demand.value <= 0) return UsdPerHour{};
    sum += group.count * group.node.price.on_demand;
  }
  return sum;
}

}  // namespace nereus::cluster
