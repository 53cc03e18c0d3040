// The machine a published run was made on. Tables name the device and how many there were; the node
// around it is the maker's own (DGX or its like) unless the set's site says otherwise, and that is
// stated in docs/method-validation.md.
#pragma once

#include "cluster/cluster.hpp"
#include "stack/stack.hpp"

namespace nereus::calibrate {

// The catalogue's own machine built of this device, or of its family; nullptr where there is none.
const cluster::Node* reference_node(const cluster::Device& device);

// As many of `node` with `device` in it as hold `num_devices`. `site` may be null.
cluster::Cluster cluster_of(const cluster::Node& node, const cluster::Device& device,
                            int num_devices, const cost::SiteEntry* site);

}  // namespace nereus::calibrate
