#include "cluster/check_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/format.hpp"
#include "cluster/meant_devices.hpp"

namespace nereus::cluster {

namespace {

bool has_peaks(const Device& device) {
  return std::any_of(device.peak.begin(), device.peak.end(),
                     [](FlopsPerSecond peak) { return peak.value > 0; });
}

std::string device_gap(const Node& node) {
  const Device& device = node.device;
  if (!has_peaks(device)) return fmt::format("no FLOP/s are known of its device {}", device.name);
  if (device.memory.value <= 0)
    return fmt::format("the memory of its device {} is not known", device.name);
  if (device.memory_bandwidth.value <= 0)
    return fmt::format("the memory bandwidth of its device {} is not known", device.name);
  return {};
}

std::string inside_gap(const Node& node) {
  if (node.num_devices > 1 && node.inside.bandwidth.value <= 0)
    return fmt::format("it is not stated how fast its {} devices are linked", node.num_devices);
  return {};
}

// Whether some pair of ranks meets outside a fast domain.
bool spans_domains(const Cluster& cluster) {
  if (cluster.groups.size() > 1) return true;
  const NodeGroup& group = cluster.groups.front();
  return group.count > 1 && group.num_devices() > group.node.domain();
}

void check_group(const Cluster& cluster, size_t index, ErrorList& errors) {
  const Node& node = cluster.groups[index].node;
  const std::string path = fmt::format("cluster.groups.{}.node", index);
  if (const std::string gap = device_gap(node); !gap.empty())
    errors.add(
        "cluster.device-gap", fmt::format("{} cannot be predicted: {}", node.name, gap), {},
        fmt::format("describe the device in a cluster file, or --set {}.device.peak.bf16=...",
                    path));
  if (const std::string gap = inside_gap(node); !gap.empty())
    errors.add("cluster.no-inside-link", fmt::format("{} cannot be predicted: {}", node.name, gap),
               {}, fmt::format("--set {}.inside.bandwidth=\"300 GB/s\"", path));
  if (node.domain() < node.num_devices && node.device.host_link.value <= 0)
    errors.add("cluster.no-host-link",
               fmt::format("{}: its fast links join only {} of its {} devices, and the host link "
                           "over which the others meet is not known",
                           node.name, node.domain(), node.num_devices),
               {}, fmt::format("--set {}.device.host_link=\"31.5 GB/s\"", path));
  if (node.domain() % node.num_devices != 0 && node.num_devices % node.domain() != 0)
    errors.add("cluster.domain",
               fmt::format("{}: a fast domain of {} devices neither divides nor is a multiple of "
                           "its {} devices",
                           node.name, node.domain(), node.num_devices));
  const bool level_rate = !cluster.levels.empty() && cluster.levels.front().bandwidth.value > 0;
  if (spans_domains(cluster) && node.network.value <= 0 && !level_rate) {
    const std::string meant = meant_devices(cluster);
    errors.add("cluster.no-network",
               fmt::format("{} of {} cannot be predicted: no network between them is stated",
                           counted(cluster.num_nodes(), "node"), node.name),
               {},
               !meant.empty()
                   ? meant
                   : fmt::format("--set {}.network=\"400 Gbit/s\", or use one node", path));
  }
}

// The sizes of the levels must reach all nodes.
void check_levels(const Cluster& cluster, ErrorList& errors) {
  std::int64_t reach = 1;
  for (size_t k = 0; k < cluster.levels.size(); ++k) {
    const NetworkLevel& level = cluster.levels[k];
    const bool outermost = k + 1 == cluster.levels.size();
    if (level.size == 0 && !outermost)
      errors.add("cluster.levels", fmt::format("level {} (\"{}\") has no size, but is not the "
                                               "outermost: only that may join all there are",
                                               k, level.name));
    reach = level.size == 0 ? INT64_MAX : std::min<std::int64_t>(reach * level.size, kMostDevices);
  }
  if (!cluster.levels.empty() && reach < cluster.num_nodes())
    errors.add("cluster.levels",
               fmt::format("the network levels join {}, the cluster has {}", counted(reach, "node"),
                           cluster.num_nodes()),
               {}, "leave out the size of the outermost level: it then joins all");
}

}  // namespace

std::string why_not(const Node& node) {
  std::string gap = device_gap(node);
  if (gap.empty()) gap = inside_gap(node);
  return gap.empty() ? gap : "cannot be predicted: " + gap;
}

std::string why_not_many(const Node& node) {
  if (!why_not(node).empty() || node.network.value > 0) return {};
  const std::string where = node.domain() > node.num_devices
                                ? fmt::format("on more than {} devices", node.domain())
                                : std::string("on more than one node");
  return fmt::format("cannot be predicted {}: no network is stated", where);
}

void check_cluster(const Cluster& cluster, ErrorList& errors) {
  if (cluster.groups.empty()) {
    errors.add("cluster.empty", "the cluster has no nodes", {}, "write it as 16xdgx-h100");
    return;
  }
  std::int64_t devices = 0;
  for (const NodeGroup& group : cluster.groups)
    devices += std::int64_t{group.count} * group.node.num_devices;
  if (devices > kMostDevices) {
    errors.add("cluster.too-large",
               fmt::format("the cluster has {} devices, more than {}", devices, kMostDevices));
    return;
  }
  for (size_t i = 0; i < cluster.groups.size(); ++i) check_group(cluster, i, errors);
  check_levels(cluster, errors);
}

}  // namespace nereus::cluster
