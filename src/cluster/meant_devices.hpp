// "32xh100" is 32 machines of whoever calls a machine "H100", but is often meant as 32 devices.
//
//   cluster::meant_devices(cluster)   // "\"H100\" is a machine of Paperspace with 1 device; 32
//                                     //  devices in machines of 8 are 4xdgx-h100", or ""
#pragma once

#include <string>

#include "cluster/cluster.hpp"

namespace nereus::cluster {

// Empty unless a machine of the cluster is an offer that is called like its device, and the catalog
// has a machine to own with several of that device.
std::string meant_devices(const Cluster& cluster);

}  // namespace nereus::cluster
