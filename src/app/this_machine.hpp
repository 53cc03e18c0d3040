// This machine as a cluster, where nobody names one: one node, a device a rank.
//
// What it computes and carries is not measured here. The rates are nominal, of a server's core of
// the 2020s and the loopback network: fit for a plan to be checked and its parts compared, not for
// its time to be believed (`nominal` says so). Memory is what the machine has, divided evenly.
//
//   cluster::Cluster c = this_machine(4, "cpu");
//   is_nominal(c);                                 // also of a plan that was made on it
#pragma once

#include <string>

#include "cluster/cluster.hpp"

namespace nereus::app {

cluster::Cluster this_machine(int ranks, const std::string& device);
bool is_nominal(const cluster::Cluster& cluster);

// The stack that stands for our own worker where none is given.
std::string worker_stack(const std::string& device);

}  // namespace nereus::app
