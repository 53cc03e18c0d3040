// A cluster as a network whose links are simulated, for clusters with one kind of node.
//
// The first dimension is the fast domain (a node, or the devices that NVLink joins). If a node has
// several domains (bridged pairs), the second is a switch between them at the rate of the devices'
// host link. The last dimension is the nodes, as rails: every device has its share of its node's
// network, and is connected to a separate switch per rail (a plain switch if nodes have one
// device). The catalog states the total rate of a device in its fast level, so the share of one
// link is
//   switch 1/1, ring 1/2, full connection of n 1/(n-1), torus 1/6
// and a torus is three rings as even as the number of devices allows.
//
// Two levels of switches above the nodes become rails with leaves of the inner level's size. Their
// uplinks are slower by the inner level's oversubscription, and by the ratio of the inner to the
// outer level's bandwidth. The oversubscription of the outermost level reduces the rate of what
// crosses it (cluster/cluster.hpp). A cluster states latencies between two devices: a link to a
// switch has half of that latency, or a quarter with two layers of switches, so that the farthest
// devices have the latency that the cluster states.
//
//   const Network network = network_of(cluster::load_cluster("16xdgx-h100"));   // 8 x 16
#pragma once

#include "cluster/cluster.hpp"
#include "simulate/network/network.hpp"

namespace nereus::simulate {

// Throws Errors if the cluster has no such network: mixed nodes, domains that do not divide, three
// levels of switches, a dragonfly (which needs a network file, since a cluster does not state its
// groups).
Network network_of(const cluster::Cluster& cluster);

}  // namespace nereus::simulate
