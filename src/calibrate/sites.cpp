#include "calibrate/sites.hpp"

#include "cluster/catalogue.hpp"

namespace nereus::calibrate {

cluster::Cluster cluster_of(const cluster::Device& device, int num_devices,
                            const cost::SiteEntry* site) {
  const cluster::Node* reference = nullptr;
  for (const cluster::Node& node : cluster::builtin_catalogue().nodes()) {
    if (node.device.short_name == device.short_name) {
      reference = &node;
      break;
    }
    // A device of the same family stands in for one that no reference node is built of.
    if (reference == nullptr &&
        cost::family_of(node.device.short_name) == cost::family_of(device.short_name))
      reference = &node;
  }
  cluster::NodeGroup group;
  if (reference != nullptr) group.node = *reference;
  if (reference == nullptr) group.node.num_devices = 1;
  group.node.device = device;
  if (site != nullptr && site->network_bytes_per_s > 0)
    group.node.network = BytesPerSecond{site->network_bytes_per_s};
  group.count = (num_devices + group.node.num_devices - 1) / group.node.num_devices;
  cluster::Cluster cluster;
  cluster.groups.push_back(group);
  return cluster;
}

}  // namespace nereus::calibrate
