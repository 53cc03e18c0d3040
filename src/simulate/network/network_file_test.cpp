#include "simulate/network/network_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cluster/links.hpp"
#include "cluster/load_cluster.hpp"
#include "simulate/network/cluster_network.hpp"

namespace nereus::simulate::network_file_test {
namespace {

using ::testing::ElementsAre;

Network parse(const std::string& text) {
  return network_from_value(spec::parse_toml(text, "net.toml"));
}

std::vector<std::string> faults(const std::function<void()>& call) {
  std::vector<std::string> list;
  try {
    call();
  } catch (const Errors& errors) {
    for (const Error& e : errors.list()) list.push_back(fmt::format("{}:{}", e.code, e.where.line));
  }
  return list;
}

TEST(NetworkFile, EveryKindIsRead) {
  const Network network = parse(R"(
name = "all"
[[dimensions]]
kind = "torus"
sizes = [4, 2]
bandwidth = "50 GB/s"
latency = "1 us"
[[dimensions]]
kind = "rails"
size = 6
bandwidth = "400 Gbit/s"
latency = "0 s"
leaf = 3
oversubscription = 1.5
[[dimensions]]
kind = "dragonfly"
size = 8
bandwidth = "25 GB/s"
latency = "300 ns"
leaf = 2
group = 2
global_bandwidth = "100 GB/s"
)");
  EXPECT_EQ(network.num_ranks(), 4 * 2 * 6 * 8);
  EXPECT_THAT(
      network.dimensions(),
      ElementsAre(Dimension{DimensionKind::kRing, 4, 50e9, 1e-6},
                  Dimension{DimensionKind::kRing, 2, 50e9, 1e-6},
                  Dimension{DimensionKind::kRails, 6, 50e9, 0, 3, 1.5},
                  Dimension{DimensionKind::kDragonfly, 8, 25e9, 300e-9, 2, 1, 2, 0, 100e9}));
  for (const char* kind : {"ring", "fully-connected", "switch"})
    EXPECT_EQ(to_string(parse(fmt::format("[[dimensions]]\nkind = \"{}\"\nsize = 8\n"
                                          "bandwidth = \"1 GB/s\"\nlatency = \"1 us\"\n",
                                          kind))
                            .dimensions()[0]
                            .kind),
              kind);
}

TEST(NetworkFile, WhatIsWrongIsSaidWithItsPlace) {
  const auto dimension = [](const std::string& lines) {
    return faults([&] { parse("[[dimensions]]\n" + lines); });
  };
  const std::string rate = "bandwidth = \"1 GB/s\"\nlatency = \"1 us\"\n";
  EXPECT_THAT(faults([] { parse("name = \"x\"\n"); }), ElementsAre("spec.missing-key:1"));
  EXPECT_THAT(dimension("kind = \"mesh\"\nsize = 8\n" + rate), ElementsAre("spec.choice:2"));
  EXPECT_THAT(dimension("kind = \"ring\"\nsize = 8\nbandwidth = 50\nlatency = \"1 us\"\n"),
              ElementsAre("spec.missing-unit:4"));
  EXPECT_THAT(dimension("kind = \"ring\"\nsize = 0\nbandwidth = \"0 GB/s\"\nlatency = \"-1 us\"\n"),
              ElementsAre("spec.range:3", "spec.range:4", "spec.range:5"));
  EXPECT_THAT(dimension("kind = \"ring\"\nsize = 8\nleaf = 4\n" + rate),
              ElementsAre("spec.unknown-key:4"));
  EXPECT_THAT(dimension("kind = \"fat-tree\"\nsize = 8\n" + rate),
              ElementsAre("spec.missing-key:1"));
  EXPECT_THAT(dimension("kind = \"fat-tree\"\nsize = 8\nleaf = 3\n" + rate),
              ElementsAre("network.impossible:2"));
  EXPECT_THAT(dimension("kind = \"fat-tree\"\nsize = 8\nleaf = 0\n" + rate),
              ElementsAre("spec.range:4"));
  EXPECT_THAT(dimension("kind = \"rails\"\nsize = 8\n" + rate),
              ElementsAre("network.impossible:2"));
  EXPECT_THAT(dimension("kind = \"dragonfly\"\nsize = 8\nleaf = 2\ngroup = 3\n" + rate),
              ElementsAre("network.impossible:2"));
  EXPECT_THAT(
      dimension("kind = \"ring\"\nsize = 8\nbandwidth = \"9e9 GB/s\"\nlatency = \"1 us\"\n"),
      ElementsAre("network.absurd:4"));
  EXPECT_THAT(dimension("kind = \"torus\"\nsizes = []\n" + rate),
              ElementsAre("network.impossible:3"));
}

std::vector<Dimension> dimensions_of(const std::string& cluster) {
  return network_of(cluster::load_cluster(cluster)).dimensions();
}

TEST(ClusterNetwork, NodesAreJoinedByRails) {
  const auto d = dimensions_of("16xdgx-h100");
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[0].kind, DimensionKind::kSwitch);
  EXPECT_EQ(d[0].size, 8);
  EXPECT_EQ(d[0].bandwidth, 450e9);
  EXPECT_EQ(d[1].kind, DimensionKind::kRails);
  EXPECT_EQ(d[1].size, 16);
  EXPECT_EQ(d[1].bandwidth, 50e9);
  EXPECT_NEAR(d[1].latency, 2.7e-6 / 2, 1e-12);
}

TEST(ClusterNetwork, OtherTopologiesDivideWhatADeviceSends) {
  const auto mesh = dimensions_of("1xmi300x-8");
  ASSERT_EQ(mesh.size(), 1u);
  EXPECT_EQ(mesh[0].kind, DimensionKind::kFullyConnected);
  EXPECT_NEAR(mesh[0].bandwidth, 64e9, 1);  // 7 links
  const auto torus = dimensions_of("16xtpu-v4");
  ASSERT_EQ(torus.size(), 3u);  // 4 x 4 x 4
  for (const Dimension& d : torus) {
    EXPECT_EQ(d.size, 4);
    EXPECT_EQ(d.bandwidth, 50e9);
  }
  EXPECT_EQ(dimensions_of("2xtpu-v4").size(), 3u);  // 2 x 2 x 2
}

// What a device gets through the simulated links is what cluster/links.hpp says of the same pair.
TEST(ClusterNetwork, TwoLevelsAreLeavesWithTaperedUplinks) {
  cluster::Cluster c = cluster::load_cluster("8xdgx-h100");
  c.levels[0].size = 4;
  c.levels[0].oversubscription = 2;
  c.levels.push_back(c.levels[0]);
  c.levels[1].size = 0;
  c.levels[1].oversubscription = 1;
  c.levels[1].bandwidth = BytesPerSecond{200e9};
  const auto d = network_of(c).dimensions();
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[1].leaf, 4);
  EXPECT_EQ(d[1].oversubscription, 4);
  const double far = cluster::link_between(c, 0, 63).bandwidth.value;
  EXPECT_EQ(capacity(d[1], LinkClass::kLeafUp) / d[1].leaf, far);
}

TEST(ClusterNetwork, WhatHasNoNetworkIsRefused) {
  EXPECT_THAT(faults([] { dimensions_of("2xdgx-h100+2xdgx-a100-80"); }),
              ElementsAre("network.mixed:0"));
  cluster::Cluster c = cluster::load_cluster("8xdgx-h100");
  c.levels[0].topology = cluster::TopologyKind::kDragonfly;
  EXPECT_THAT(faults([&] { network_of(c); }), ElementsAre("network.not-stated:0"));
}

// Every node of the catalogue that a cluster may consist of has a network.
TEST(ClusterNetwork, TheWholeCatalogueHasOne) {
  int made = 0;
  std::vector<cluster::Node> nodes = cluster::builtin_catalogue().nodes();
  for (const cluster::Offer& offer : cluster::builtin_catalogue().offers())
    nodes.push_back(offer.node);
  for (const cluster::Node& node : nodes) {
    for (const int count : {1, 4}) {
      cluster::Cluster c;
      try {
        c = cluster::load_cluster(fmt::format("{}x\"{}\"", count, node.name));
      } catch (const Errors&) {
        continue;  // not complete enough to be predicted either
      }
      if (c.num_devices() % std::max(std::min(node.domain(), c.num_devices()), 1) != 0) continue;
      EXPECT_EQ(network_of(c).num_ranks(), c.num_devices()) << node.name;
      ++made;
    }
  }
  EXPECT_GT(made, 150);
}

}  // namespace
}  // namespace nereus::simulate::network_file_test
