#include "cluster/load_cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temporary_folder.hpp"
#include "cluster/cluster_testing.hpp"
#include "cluster/links.hpp"
#include "cluster/meant_devices.hpp"

namespace nereus::cluster::load_cluster_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> codes(std::string_view spec, const std::vector<Override>& set = {}) {
  std::vector<std::string> list;
  try {
    load_cluster(spec, set);
  } catch (const Errors& errors) {
    for (const Error& error : errors.list()) list.push_back(error.code);
  }
  return list;
}

std::string hint_of(std::string_view spec) {
  try {
    load_cluster(spec);
  } catch (const Errors& errors) {
    return errors.list().front().hint;
  }
  return {};
}

TEST(ClusterSpec, CountsNodes) {
  const Cluster c = load_cluster("16xdgx-h100");
  EXPECT_EQ(c.num_devices(), 128);
  EXPECT_EQ(c.num_nodes(), 16);
  EXPECT_TRUE(c.uniform());
  EXPECT_EQ(c.name, "16xdgx-h100");
  ASSERT_EQ(c.levels.size(), 1U);
  EXPECT_EQ(c.levels[0].bandwidth, BytesPerSecond{400e9});
  EXPECT_EQ(c.levels[0].kind, LinkKind::kInfiniband);
  EXPECT_EQ(c.levels[0].topology, TopologyKind::kSwitch);
  EXPECT_EQ(c.levels[0].size, 0);
}

TEST(ClusterSpec, MixesAndQuotes) {
  const Cluster c = load_cluster("4xp4d.24xlarge+8xg5.48xlarge");
  ASSERT_EQ(c.groups.size(), 2U);
  EXPECT_EQ(c.num_devices(), 96);
  EXPECT_EQ(c.groups[1].node.device.short_name, "A10G");
  EXPECT_EQ(c.levels[0].bandwidth,
            BytesPerSecond{50e9});  // the faster side; nodes limit themselves
  const Cluster t4 = load_cluster("1x\"n1-standard-8 + 1xT4\"");
  EXPECT_EQ(t4.num_devices(), 1);
  EXPECT_EQ(t4.groups[0].node.device.name, "T4");
  EXPECT_EQ(
      load_cluster("1xH100_NVLINK_80GB::8", {{"cluster.groups.0.node.inside.bandwidth", "31 GB/s"}})
          .num_devices(),
      8);
  // The first x ends the count; the name may hold others.
  EXPECT_EQ(load_cluster("1x8x_H100-SXM_SECURE").num_devices(), 8);
  EXPECT_EQ(load_cluster("2xDGX-H100").num_devices(), 16);
}

TEST(ClusterSpec, EqualNeighboursAreOneGroup) {
  EXPECT_TRUE(load_cluster("2xdgx-h100+3xdgx-h100").uniform());
  EXPECT_EQ(load_cluster("2xdgx-h100+1xdgx-a100-80+3xdgx-h100").groups.size(), 3U);
}

TEST(ClusterSpec, SaysAllThatIsWrong) {
  EXPECT_THAT(codes(""), ElementsAre("cluster.spec"));
  EXPECT_THAT(codes("16"), ElementsAre("cluster.spec"));
  EXPECT_THAT(codes("16x"), ElementsAre("cluster.spec"));
  EXPECT_THAT(codes("0xdgx-h100"), ElementsAre("cluster.count"));
  EXPECT_THAT(codes("-2xdgx-h100"), ElementsAre("cluster.count"));
  EXPECT_THAT(codes("99999999999xdgx-h100"), ElementsAre("cluster.count"));
  EXPECT_THAT(codes("1.5xdgx-h100"), ElementsAre("cluster.spec"));
  EXPECT_THAT(codes("2xdgx-h100+"), ElementsAre("cluster.spec"));
  EXPECT_THAT(codes("2x\"dgx-h100"), ElementsAre("cluster.spec"));
  EXPECT_THAT(codes("2xdgx h100"), ElementsAre("cluster.spec"));
  EXPECT_THAT(codes("0xdgx-h100+2xdgx-h1000+x"),
              ElementsAre("cluster.count", "cluster.unknown-node", "cluster.spec"));
  EXPECT_THAT(codes("4000000xdgx-h100"), ElementsAre("cluster.too-large"));
  EXPECT_THAT(codes("2xgpu_8x_h100_sxm5"), ElementsAre("cluster.no-network"));
  EXPECT_THAT(codes("1xgpu_8x_a100"), ElementsAre("cluster.no-inside-link"));
}

TEST(ClusterSpec, LongNonsenseIsAnsweredShortly) {
  std::string spec(50'000, '+');
  EXPECT_EQ(codes(spec).size(), 10U);
  EXPECT_THAT(codes("2x" + std::string(50'000, 'a')), ElementsAre("cluster.unknown-node"));
  EXPECT_FALSE(codes(std::string_view("2x\0\xff", 4)).empty());
}

TEST(ClusterSpec, Hints) {
  EXPECT_EQ(hint_of("dgx-h100"), "1xdgx-h100");
  EXPECT_EQ(hint_of("0xdgx-h100"), "1xdgx-h100");
  EXPECT_THAT(hint_of("2xdgx-h10"), HasSubstr("\"dgx-h100\""));
  EXPECT_THAT(hint_of("2xgpu_8x_h100_sxm5"), HasSubstr("--set cluster.groups.0.node.network"));
  try {
    load_cluster("2xdgx-h100+3xnothing");
    FAIL();
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list().at(0).where.column, 14);
    EXPECT_EQ(errors.list().at(0).where.file, "--cluster");
  }
}

TEST(ClusterOverrides, ReachEveryField) {
  const Cluster c =
      load_cluster("2xdgx-h100", {{"cluster.groups.0.count", "3"},
                                  {"groups.0.node.network", "100 Gbit/s"},
                                  {"cluster.groups.0.node.device.peak.bf16", "500 TFLOP/s"},
                                  {"cluster.name", "mine"}});
  EXPECT_EQ(c.num_nodes(), 3);
  EXPECT_EQ(c.name, "mine");
  EXPECT_EQ(c.groups[0].node.network, BytesPerSecond{12.5e9});
  EXPECT_EQ(c.levels[0].bandwidth, BytesPerSecond{12.5e9});  // derived, so it follows
  EXPECT_EQ(c.groups[0].node.device.peak_of(Precision::kBf16), FlopsPerSecond{500e12});
  const Cluster slow = load_cluster("2xdgx-h100", {{"cluster.levels.0.oversubscription", "4"}});
  EXPECT_EQ(link_between(slow, 0, 8).bandwidth, BytesPerSecond{12.5e9});
  // Nothing else has moved.
  Cluster same = load_cluster("2xdgx-h100", {{"cluster.levels.0.oversubscription", "1"}});
  EXPECT_EQ(same, load_cluster("2xdgx-h100"));
  EXPECT_EQ(load_cluster("2xgpu_8x_h100_sxm5", {{"cluster.groups.0.node.network", "400 GB/s"}})
                .num_nodes(),
            2);
}

TEST(ClusterOverrides, SurviveOnEveryCatalogueNode) {
  // Writing with units and reading back must not move a single figure of any machine.
  const std::vector<Override> none_really = {{"cluster.groups.0.count", "1"}};
  for (const Node& node : builtin_catalogue().nodes()) {
    const std::string spec = "1x" + node.name;
    EXPECT_EQ(load_cluster(spec, none_really), load_cluster(spec)) << spec;
  }
  for (const Offer& offer : builtin_catalogue().offers()) {
    if (!offer.why_not.empty()) continue;
    const std::string spec = "1x\"" + offer.node.name + "\"";
    EXPECT_EQ(load_cluster(spec, none_really), load_cluster(spec)) << spec;
  }
}

TEST(ClusterOverrides, ANewMemoryIsUsableAsAWhole) {
  const Device before = load_cluster("1xp3.2xlarge").groups.front().node.device;
  ASSERT_GT(before.usable_memory.value, 0);
  const auto device = [](const std::vector<Override>& set) {
    return load_cluster("1xp3.2xlarge", set).groups.front().node.device;
  };
  const Device less = device({{"cluster.groups.0.node.device.memory", "\"1 MiB\""}});
  EXPECT_EQ(less.memory.value, 1 << 20);
  EXPECT_EQ(less.usable_memory.value, 0);
  const Device both = device({{"cluster.groups.0.node.device.usable_memory", "\"1 MiB\""},
                              {"cluster.groups.0.node.device.memory", "\"2 MiB\""}});
  EXPECT_EQ(both.usable_memory.value, 1 << 20);
}

TEST(ClusterOverrides, AreChecked) {
  EXPECT_THAT(codes("2xdgx-h100", {{"cluster.groups.0.cuont", "3"}}),
              ElementsAre("spec.unknown-key"));
  EXPECT_THAT(codes("2xdgx-h100", {{"cluster.groups.0.count", "0"}}), ElementsAre("spec.range"));
  EXPECT_THAT(codes("2xdgx-h100", {{"cluster.groups.7.count", "1"}}), ElementsAre("spec.set-path"));
  EXPECT_THAT(codes("2xdgx-h100", {{"cluster.groups.0.node.network", "100"}}),
              ElementsAre("spec.missing-unit"));
  EXPECT_THAT(codes("2xdgx-h100", {{"cluster.levels.0.oversubscription", "0.5"}}),
              ElementsAre("spec.range"));
}

TEST(ClusterFile, MixesNamesAndDescriptions) {
  const TemporaryFolder folder;
  const std::string file = folder.write("mix.toml", R"(
name = "lab"
[[groups]]
count = 4
node = "dgx-a100-80"
[[groups]]
count = 2
[groups.node]
name = "box"
num_devices = 4
network = "100 Gbit/s"
network_kind = "ethernet"
inside = { kind = "pcie", bandwidth = "28 GB/s" }
tiers = [{ name = "host", capacity = "1 TiB", bandwidth = "25 GB/s", latency = "2 us" }]
price = { on_demand = "$4/h", date = "2026-01-31", source = "invoice" }
device = { name = "X1", memory = "32 GiB", memory_bandwidth = "1 TB/s", peak = { bf16 = "100 TFLOP/s" } }
[[levels]]
name = "leaf"
kind = "infiniband"
topology = "fat-tree"
size = 3
oversubscription = 2
[[levels]]
name = "spine"
kind = "infiniband"
bandwidth = "400 Gbit/s"
latency = "5 us"
)");
  const Cluster c = load_cluster(file);
  EXPECT_EQ(c.num_devices(), 40);
  EXPECT_EQ(c.groups[1].node.device.peak_of(Precision::kBf16), FlopsPerSecond{100e12});
  EXPECT_EQ(c.groups[1].node.price.on_demand, UsdPerHour{4});
  EXPECT_EQ(c.groups[1].node.inside.latency, *builtin_catalogue().usual_latency(LinkKind::kPcie));
  ASSERT_EQ(c.levels.size(), 2U);
  // Under one leaf the DGX has its 200 GB/s for 8 devices; over the spine 50 GB/s halved.
  EXPECT_EQ(link_between(c, 0, 8), (Link{BytesPerSecond{25e9}, Seconds{2.7e-6}, 1}));
  EXPECT_EQ(link_between(c, 0, 24), (Link{BytesPerSecond{50e9 / 8 / 2}, Seconds{5e-6}, 2}));
  EXPECT_EQ(load_cluster(file, {{"cluster.groups.1.count", "1"}}).num_nodes(), 5);
}

TEST(ClusterFile, YamlJsonAndLike) {
  const TemporaryFolder folder;
  const std::string yaml = folder.write("like.yaml", R"(
groups:
  - count: 2
    node: {like: dgx-h100, network: 200 GB/s, device: {like: H100, memory: 64 GiB}}
)");
  const Cluster c = load_cluster(yaml);
  EXPECT_EQ(c.groups[0].node.network, BytesPerSecond{200e9});
  EXPECT_EQ(c.groups[0].node.device.capacity(), Bytes{64 * kGiB});
  EXPECT_EQ(c.groups[0].node.device.peak_of(Precision::kBf16), FlopsPerSecond{989e12});
  EXPECT_EQ(c.levels.at(0).bandwidth, BytesPerSecond{200e9});
  EXPECT_EQ(
      load_cluster(folder.write("one.json", R"({"groups": [{"count": 2, "node": "dgx-h100"}]})"))
          .groups,
      load_cluster("2xdgx-h100").groups);
}

TEST(ClusterFile, SaysAllThatIsWrong) {
  const TemporaryFolder folder;
  const std::string file = folder.write("bad.toml", R"(
nmae = "lab"
[[groups]]
count = 0
node = "dgx-a100-800"
[[groups]]
count = 2
[groups.node]
name = "box"
num_devices = -4
network = "100"
inside = { kind = "nvlonk", bandwidth = "0 GB/s" }
tiers = [{ name = "host", capacity = "1e30 GB" }]
price = { on_demand = "$4/h", date = "yesterday" }
device = { name = "X1", memory = "80 TB", memory_bandwidth = "1 TB/s", peak = { bf17 = "1 TFLOP/s" } }
)");
  EXPECT_THAT(codes(file),
              ::testing::UnorderedElementsAre(
                  "spec.unknown-key", "spec.range", "cluster.unknown-node", "spec.range",
                  "spec.missing-unit", "spec.choice", "spec.range", "cluster.absurd",
                  "cluster.date", "cluster.absurd", "spec.unknown-key"));
}

TEST(ClusterFile, MissingUnreadableAndDirectories) {
  const TemporaryFolder folder;
  EXPECT_FALSE(codes("/nowhere/cluster.toml").empty());
  EXPECT_FALSE(codes(folder.path()).empty());
  EXPECT_THAT(codes(folder.write("cut.json", R"({"groups": [{"count": 2, "no)")),
              ElementsAre("spec.syntax"));
  EXPECT_FALSE(codes(folder.write("list.json", "[1]")).empty());
  EXPECT_THAT(codes(folder.write("empty.toml", "")), ElementsAre("spec.missing-key"));
  EXPECT_THAT(codes(folder.write("levels.json", R"({"groups": [{"count": 9, "node": "dgx-h100"}],
      "levels": [{"kind": "infiniband", "size": 4}]})")),
              ElementsAre("cluster.levels"));
  EXPECT_THAT(codes(folder.write("twice.json", R"({"groups": [{"count": 9, "node":
      {"like": "dgx-h100", "network": "1 GB/s", "network_bytes_per_s": 1e9}}]})")),
              ElementsAre("cluster.given-twice"));
}

// Someone who writes 32xh100 has devices in mind, and gets the machines that are called so.
TEST(LoadCluster, SaysWhereAnOfferIsCalledLikeItsDevice) {
  ErrorList errors;
  const Cluster offers = parse_cluster_spec("32xh100", errors, builtin_catalogue());
  EXPECT_TRUE(errors.list().empty());
  EXPECT_THAT(meant_devices(offers), HasSubstr("32 of them in machines of 8 are 4xdgx-h100"));
  EXPECT_EQ(meant_devices(load_cluster("4xdgx-h100")), "");
  EXPECT_EQ(meant_devices(load_cluster("4xp4d.24xlarge")), "");
}

}  // namespace
}  // namespace nereus::cluster::load_cluster_test
