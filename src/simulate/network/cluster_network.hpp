// A cluster as a network whose links are simulated, for clusters of one kind of node.
//
// Dimensions, first to last: the fast domain (a node, or what NVLink joins); where a node holds
// several domains (bridged pairs), a switch over them at the devices' host link; the nodes, as
// rails: every device has its share of its node's network to a switch of its own (a plain switch
// where nodes have one device). The catalogue states what a device sends into its fast level in
// all, so a link is that
//   switch 1/1, ring 1/2, full connection of n 1/(n-1), torus 1/6
// and a torus is three rings as even as the number of devices allows.
//
// Two levels of switches above the nodes are rails with leaves of the inner level's size, tapered
// by its oversubscription and by what the outer level's bandwidth is less; the oversubscription of
// the outermost level narrows what crosses it (cluster/cluster.hpp). Latencies of a cluster are
// between two devices: a link of a switch has half, of two layers a quarter, so that the farthest
// devices are as far apart as the cluster says.
//
//   const Network network = network_of(cluster::load_cluster("16xdgx-h100"));   // 8 x 16
#pragma once

#include "cluster/cluster.hpp"
#include "simulate/network/network.hpp"

namespace nereus::simulate {

// Throws Errors where the description has no such network: mixed nodes, domains that do not divide,
// three levels of switches, a dragonfly (which needs a network file: its groups are not stated).
Network network_of(const cluster::Cluster& cluster);

}  // namespace nereus::simulate
