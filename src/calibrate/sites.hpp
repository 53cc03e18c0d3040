// The machine a published run was made on. Tables name the device and how many there were; the node
// around it is the maker's own (DGX or its like) unless the set's site says otherwise, and that is
// stated in docs/method-validation.md.
#pragma once

#include "cluster/cluster.hpp"
#include "cost/stack.hpp"

namespace nereus::calibrate {

// `site` may be null. Nodes are the catalogue's reference node of the device, as many as hold
// `num_devices`.
cluster::Cluster cluster_of(const cluster::Device& device, int num_devices,
                            const cost::SiteEntry* site);

}  // namespace nereus::calibrate
