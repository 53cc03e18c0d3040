// This machine as a cluster, where nobody names one: one node, a device a rank.
//
// What it computes and carries is not measured here. The rates are nominal, of a server's core of
// the 2020s and the loopback network: fit for a plan to be checked and its parts compared, not for
// its time to be believed (`nominal` says so). Memory is what the machine has, divided evenly.
//
//   Cluster c = this_machine(4, "cpu");
//   is_nominal(c);                                 // also of a plan that was made on it
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cluster/cluster.hpp"

namespace nereus::cluster {

Cluster this_machine(int ranks, std::string_view device);
// `--cluster this-machine[:RANKS]`: how many; a rank a core where nobody says. Nothing where the
// text is another cluster's. Throws Errors where RANKS is no number.
std::optional<int> ranks_here(std::string_view spec);
int usable_cores();          // that this process may run on
double memory_of_machine();  // bytes
std::string this_cpu();      // "Intel(R) Xeon(R) ..": as the system names it
bool is_nominal(const Cluster& cluster);
// "cpu" of "CPU", the name that its devices have; empty where it is none of them.
std::string_view own_device_kind(std::string_view device_name);

}  // namespace nereus::cluster
