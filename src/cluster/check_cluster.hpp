// Whether a machine is described well enough to be predicted. A description may leave a figure at
// zero ("not stated"); it becomes an error only where the figure is needed: the link between
// devices where a node has several, the network where the cluster spans more than one fast domain.
//
//   why_not(node);                     // "cannot be predicted: ..." or empty
//   check_cluster(cluster, errors);    // the same for a whole cluster, with a hint what to set
#pragma once

#include <string>

#include "base/error.hpp"
#include "cluster/cluster.hpp"

namespace nereus::cluster {

std::string why_not(const Node& node);       // one node of this kind
std::string why_not_many(const Node& node);  // several nodes, where one alone could be

// Codes: cluster.empty, cluster.too-large, cluster.device-gap, cluster.no-inside-link,
// cluster.no-network, cluster.no-host-link, cluster.domain, cluster.levels.
void check_cluster(const Cluster& cluster, ErrorList& errors);

inline constexpr int kMostDevices = 16'777'216;  // far beyond any machine; keeps ranks in an int

}  // namespace nereus::cluster
