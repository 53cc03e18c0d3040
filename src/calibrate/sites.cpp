#include "calibrate/sites.hpp"

#include "cluster/catalogue.hpp"

namespace nereus::calibrate {

const cluster::Node* reference_node(const cluster::Device& device) {
  const cluster::Node* reference = nullptr;
  for (const cluster::Node& node : cluster::builtin_catalogue().nodes()) {
    if (node.device.short_name == device.short_name) return &node;
    // If no reference node has this device, one with a device of the same family is used.
    if (reference == nullptr &&
        cost::family_of(node.device.short_name) == cost::family_of(device.short_name))
      reference = &node;
  }
  return reference;
}

cluster::Cluster cluster_of(const cluster::Node& node, const cluster::Device& device,
                            int num_devices, const cost::SiteEntry* site) {
  cluster::NodeGroup group;
  group.node = node;
  group.node.device = device;
  if (site != nullptr && site->network_bytes_per_s > 0)
    group.node.network = BytesPerSecond{site->network_bytes_per_s};
  group.count = (num_devices + group.node.num_devices - 1) / group.node.num_devices;
  cluster::Cluster cluster;
  cluster.groups.push_back(group);
  return cluster;
}

}  // namespace nereus::calibrate
