// The machine of a published run. Tables give the device and the number of devices; the node is the
// vendor's (DGX or similar) unless the site of the set specifies another
// (docs/method-validation.md).
#pragma once

#include "cluster/cluster.hpp"
#include "stack/stack.hpp"

namespace nereus::calibrate {

// The catalog's first machine with this device, or with the same device and another memory
// ("V100-SXM-16GB" in a machine with "V100-SXM-32GB"); nullptr if there is none. A machine with one
// device only stands for several devices if there is no other.
const cluster::Node* reference_node(const cluster::Device& device, int num_devices = 1);

// A cluster of `node`s with `device`, with as many nodes as `num_devices` needs. `site` may be
// null.
cluster::Cluster cluster_of(const cluster::Node& node, const cluster::Device& device,
                            int num_devices, const cost::SiteEntry* site);

}  // namespace nereus::calibrate
