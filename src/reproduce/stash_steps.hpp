// Predicts steps of Stash's networks on its machines. Only for use inside reproduce/.
//
// One device (its T1), b samples per device:
//   T1 = copy + forward + backward + update
//   copy      = b bytes of a sample / host copy        not overlapped: Stash copies first
//   forward, backward   for each layer, the longer of its kernels (cost/kernel_time.hpp) and the
//               host that launches them; backward has twice as many launches as forward
//   update    = memory passes of the optimizer
// All devices (its T2, over a network its T5):
//   T2 = T1 + stall         of gradient all-reduces that overlap with backward (cost/buckets.hpp),
//                           each with the time of simulate/nccl_nodes.hpp
// Devices do not slow each other down in any other way, although Stash's measurements include such
// effects.
//
// Links. kBest is a ring that is chosen for the machine: NVLink on p3; on p2, a path through the
// tree of PCIe switches that uses every link once in each direction. kShared is a ring in the order
// of the ranks: on p3 it uses PCIe; on p2 all devices share one x16 link to the host.
//
//   const StashMachine m = stash_machine("p3.16xlarge");
//   stash_step(net, m, options, 32).interconnect_share();
#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "cost/buckets.hpp"
#include "reproduce/stash_models.hpp"
#include "simulate/nccl_nodes.hpp"
#include "stack/stack.hpp"

namespace nereus::app {

enum class Links { kBest, kShared };

struct StashMachine {
  std::string name{};    // "2xp3.8xlarge"
  cluster::Node node{};  // one of the nodes
  int count = 1;
  double usd_per_hour = 0;  // of all nodes, in Stash's paper
  int devices() const { return count * node.num_devices; }
};
// The machines of data/stash/instances.csv, in its order; the last one, p3dn.24xlarge, only ran
// BERT.
std::vector<StashMachine> stash_machines();
StashMachine stash_machine(const std::string& name);

struct StashOptions {
  cost::BucketLimits buckets = cost::kTorchBuckets;
  Links links = Links::kBest;
  simulate::NcclNodeNumbers nccl{};
  double gradient_bytes = 4;  // per gradient, in all-reduces
  double launch = 10e-6;      // seconds of the host per kernel
  double host_copy = 10e9;    // bytes/s to one device
  double pcie = 10e9;         // bytes/s between devices that do not share NVLink
};

struct StashStep {
  double copy = 0;
  double forward = 0;
  double backward = 0;
  double update = 0;
  double stall = 0;
  double sums = 0;  // seconds of all all-reduces, exposed or not
  int num_sums = 0;
  double one() const { return copy + forward + backward + update; }  // T1
  double all() const { return one() + stall; }                       // T2, T5
  double interconnect_share() const { return stall / all(); }
};

StashStep stash_step(const StashNetwork& net, const StashMachine& machine,
                     const StashOptions& options, int batch);

// The site of a machine's all-reduces.
simulate::NcclSite stash_site(const StashMachine& machine, const StashOptions& options);

}  // namespace nereus::app
