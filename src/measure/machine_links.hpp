// Finds links that are slower than promised. A rented machine may have a smaller share of the
// hardware than its offer states, or one bad link among good ones.
//
// The rate of a pair is that of its largest message. A link is slow compared with
//   the catalog        if its rate is below kLeastOfCatalogue times the cluster's rate between the
//                      two ranks: links reach 70 to 90 % of their data sheet in one direction at a
//                      time (the defaults of link_efficiency and network_efficiency in
//                      stack/parameters.hpp are 0.75 and 0.70), and half of that is not noise
//   the other links    if its rate is below kLeastOfOthers times the median of all pairs of its
//                      kind, inside a host or between hosts
//
//   for (const SlowLink& slow : slow_links(machine, &cluster)) slow.why;
#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "profile/machine_profile.hpp"

namespace nereus::measure {

inline constexpr double kLeastOfCatalogue = 0.5;
inline constexpr double kLeastOfOthers = 0.7;

struct SlowLink {
  int from = 0;
  int to = 0;
  double rate = 0;    // bytes per second
  double wanted = 0;  // what the catalog states, or the other links reach
  std::string why{};
};

// Without a cluster, pairs are only compared with each other.
std::vector<SlowLink> slow_links(const profile::Machine& machine, const cluster::Cluster* cluster);

}  // namespace nereus::measure
