#include "cluster/meant_devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "cluster/catalogue.hpp"

namespace nereus::cluster {

std::string meant_devices(const Cluster& cluster) {
  const Catalogue& known = builtin_catalogue();
  for (const NodeGroup& group : cluster.groups) {
    const Node& node = group.node;
    const Device* called = known.find_device(node.name);
    if (called == nullptr || known.find_offer(node.name) == nullptr) continue;
    const auto usual = std::find_if(known.nodes().begin(), known.nodes().end(), [&](const Node& n) {
      return n.device.name == called->name && n.num_devices > node.num_devices;
    });
    if (usual == known.nodes().end()) continue;
    const int devices = group.num_devices();
    return fmt::format("\"{}\" is a machine of {} with {}; {} of them in machines of {} are {}x{}",
                       node.name, node.provider, counted(node.num_devices, "device"), devices,
                       usual->num_devices, (devices + usual->num_devices - 1) / usual->num_devices,
                       usual->name);
  }
  return {};
}

}  // namespace nereus::cluster
