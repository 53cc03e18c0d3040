// Compares the closed forms of cost/collectives.hpp with collectives simulated on the same
// cluster's links (cluster_network.hpp): the cost of a topology, computed in two ways that share no
// code.
#include <gtest/gtest.h>

#include "cost/machine_rates.hpp"
#include "simulate/network/cluster_network.hpp"
#include "simulate/network/collective_run.hpp"

namespace nereus::simulate::cost_agreement_test {
namespace {

using cluster::TopologyKind;

constexpr double kBytes = 1e9;

// One node of n devices, or n nodes of one, joined so.
cluster::Cluster joined(TopologyKind topology, int n, bool inside) {
  cluster::Cluster cluster;
  cluster::NodeGroup group;
  group.count = inside ? 1 : n;
  cluster::Node& node = group.node;
  node.num_devices = inside ? n : 1;
  node.inside.bandwidth = BytesPerSecond{100e9};
  node.network = BytesPerSecond{100e9};
  if (inside) {
    node.inside.topology = topology;
  } else {
    cluster::NetworkLevel level;
    level.topology = topology;
    cluster.levels.push_back(level);
  }
  cluster.groups.push_back(group);
  return cluster;
}

// Of wires without start-up, so that only bytes count.
cost::Fabric fabric_of(const cluster::Cluster& cluster) {
  cost::Stack stack;
  stack.settings = {{"link_efficiency", 1}, {"network_efficiency", 1}, {"network_jitter", 0}};
  cost::Fabric fabric = cost::make_machine(cluster, 0, cost::Basis(stack)).fabric;
  fabric.link_latency = fabric.network_latency = 0;
  return fabric;
}

struct Seconds2 {
  double formula = 0;
  double played = 0;
};

Seconds2 all_to_all(TopologyKind topology, int n, bool inside, int chunks = 1) {
  const cluster::Cluster cluster = joined(topology, n, inside);
  const Network network = network_of(cluster);
  const CollectiveRequest request{
      Collective::kAllToAll, kBytes,
      std::vector<Algorithm>(network.dimensions().size(), Algorithm::kDirect), chunks,
      Folding::kWhereProvable};
  return {cost::all_to_all_seconds(fabric_of(cluster), {n, inside ? n : 1}, kBytes),
          simulate(network, request).seconds};
}

TEST(TopologiesCost, AllToAllThroughASwitchOrAFullConnectionIsAsPlayed) {
  for (const bool inside : {true, false})
    for (const TopologyKind topology : {TopologyKind::kSwitch, TopologyKind::kFullyConnected})
      for (const int n : {2, 5, 8, 16}) {
        const Seconds2 both = all_to_all(topology, n, inside);
        EXPECT_NEAR(both.formula, both.played, 1e-6 * both.played) << n;
      }
}

// On an odd ring exactly; on an even one the player sends what goes half round forwards, all of it,
// which costs (n/2 + 1) / (n/2) of an even division.
TEST(TopologiesCost, AllToAllOnARingIsAsPlayed) {
  for (const bool inside : {true, false}) {
    for (const int n : {3, 5, 9, 15}) {
      const Seconds2 both = all_to_all(TopologyKind::kRing, n, inside);
      EXPECT_NEAR(both.formula, both.played, 1e-6 * both.played) << n;
    }
    for (const int n : {4, 8, 16}) {
      const Seconds2 both = all_to_all(TopologyKind::kRing, n, inside);
      EXPECT_NEAR(both.formula * (1 + 2.0 / n), both.played, 1e-6 * both.played) << n;
    }
  }
}

// The player passes chunk after chunk along one side after the other, so that 32 chunks leave 2/32
// of a side's time to fill and drain; the formula's mean way, a/4, is a little more than the
// (a^2 - 1)/(4a) of an odd side. Both within 8 %.
TEST(TopologiesCost, AllToAllOnATorusIsNearlyAsPlayed) {
  for (const int n : {27, 125}) {
    const Seconds2 both = all_to_all(TopologyKind::kTorus, n, true, 32);
    EXPECT_NEAR(both.formula, both.played, 0.08 * both.played) << n;
    const Seconds2 by_switch = all_to_all(TopologyKind::kSwitch, n, true);
    EXPECT_GT(both.played, 1.9 * by_switch.played) << n;  // it is far from one
  }
}

// Rings over a whole level are bandwidth-optimal whatever joins it.
TEST(TopologiesCost, RingsAreAsPlayed) {
  for (const auto& [topology, algorithm] :
       {std::pair{TopologyKind::kSwitch, Algorithm::kRing},
        std::pair{TopologyKind::kRing, Algorithm::kTwoWayRing},
        std::pair{TopologyKind::kFullyConnected, Algorithm::kDirect}})
    for (const bool inside : {true, false})
      for (const int n : {3, 8}) {
        const cluster::Cluster cluster = joined(topology, n, inside);
        const cost::Fabric fabric = fabric_of(cluster);
        const cost::Group group{n, inside ? n : 1};
        const auto played = [&, a = algorithm](Collective collective) {
          return simulate(network_of(cluster),
                          {collective, kBytes, {a}, 1, Folding::kWhereProvable})
              .seconds;
        };
        const double reduced = cost::all_reduce_seconds(fabric, group, kBytes);
        EXPECT_NEAR(reduced, played(Collective::kAllReduce), 1e-6 * reduced) << n;
        const double gathered = cost::all_gather_seconds(fabric, group, kBytes);
        EXPECT_NEAR(gathered, played(Collective::kAllGather), 1e-6 * gathered) << n;
      }
}

}  // namespace
}  // namespace nereus::simulate::cost_agreement_test
