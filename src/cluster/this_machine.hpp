// This machine as a cluster, for users who name no cluster: one node, with one device per rank.
//
// Its speed is not measured here. The rates are nominal, those of a server core of the 2020s and of
// the loopback network: good enough to check a plan and compare its parts, but not to predict its
// time (is_nominal() tells such clusters apart). The memory is that of the machine, divided evenly.
//
//   Cluster c = this_machine(4, "cpu");
//   is_nominal(c);                                 // also for a plan that was made on it
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/cluster.hpp"

namespace nereus::cluster {

Cluster this_machine(int ranks, std::string_view device);
// The number of ranks in `--cluster this-machine[:RANKS]`, by default one per core. Empty if the
// text is another cluster. Throws Errors if RANKS is not a number.
std::optional<int> ranks_here(std::string_view spec);
int usable_cores();          // that this process may use
double memory_of_machine();  // bytes
std::string this_cpu();      // "Intel(R) Xeon(R) ..": the system's name
bool is_nominal(const Cluster& cluster);
// "cpu" for "CPU", the name of its devices; empty for other devices.
std::string_view own_device_kind(std::string_view device_name);

}  // namespace nereus::cluster
