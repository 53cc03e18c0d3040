// Checks that a machine is described well enough to be predicted. A description may leave a number
// at zero ("not stated"); this is only an error if the number is needed: the link between devices
// if a node has several, the network if the cluster has more than one fast domain.
//
//   why_not(node);                     // "cannot be predicted: ..." or empty
//   check_cluster(cluster, errors);    // for a whole cluster, with hints about what to set
#pragma once

#include <string>

#include "base/error.hpp"
#include "cluster/cluster.hpp"

namespace nereus::cluster {

std::string why_not(const Node& node);       // for one node of this kind
std::string why_not_many(const Node& node);  // for several nodes, if a single one can be predicted

// Codes: cluster.empty, cluster.too-large, cluster.device-gap, cluster.no-inside-link,
// cluster.no-network, cluster.no-host-link, cluster.domain, cluster.levels.
void check_cluster(const Cluster& cluster, ErrorList& errors);

// Far more than any machine has; ranks below it fit into an int.
inline constexpr int kMostDevices = 16'777'216;

}  // namespace nereus::cluster
