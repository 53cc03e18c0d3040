#include "calibrate/sites.hpp"

#include "cluster/catalogue.hpp"

namespace nereus::calibrate {

namespace {

// "V100-SXM-16GB" without its memory: "V100-SXM". Names without memory stay whole.
std::string_view without_memory(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  return name.ends_with("GB") && dash != std::string_view::npos ? name.substr(0, dash) : name;
}

}  // namespace

const cluster::Node* reference_node(const cluster::Device& device, int num_devices) {
  const cluster::Node* reference = nullptr;
  int rank = 0;
  for (const cluster::Node& node : cluster::builtin_catalogue().nodes()) {
    const std::string& own = node.device.short_name;
    // The device itself comes first, then a machine that holds several.
    int fit = own == device.short_name                                   ? 4
              : without_memory(own) == without_memory(device.short_name) ? 2
                                                                         : 0;
    if (fit == 0) continue;
    if (num_devices == 1 || node.num_devices > 1) ++fit;
    if (fit > rank) {
      reference = &node;
      rank = fit;
    }
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
