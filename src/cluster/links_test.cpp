#include "cluster/links.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cluster/cluster_testing.hpp"
#include "cluster/load_cluster.hpp"

namespace nereus::cluster::links_test {
namespace {

Link make_link(double gb_per_s, double us, int level) {
  return {BytesPerSecond{gb_per_s * 1e9}, Seconds{us * 1e-6}, level};
}

TEST(Cluster, NumbersRanksGroupByGroup) {
  const Cluster c = load_cluster("2xdgx-h100+3xgb200-nvl72+1xworkstation-rtx-4090");
  EXPECT_EQ(c.num_devices(), 16 + 12 + 1);
  EXPECT_EQ(c.num_nodes(), 6);
  EXPECT_EQ(c.group_index_of(0), 0);
  EXPECT_EQ(c.group_index_of(15), 0);
  EXPECT_EQ(c.group_index_of(16), 1);
  EXPECT_EQ(c.group_index_of(28), 2);
  EXPECT_EQ(c.node_of(7), 0);
  EXPECT_EQ(c.node_of(8), 1);
  EXPECT_EQ(c.node_of(16), 2);
  EXPECT_EQ(c.node_of(20), 3);
  EXPECT_EQ(c.node_of(28), 5);
  EXPECT_EQ(c.device_at(17).short_name, "GB200");
  EXPECT_FALSE(c.uniform());
  EXPECT_EQ(c.price_on_demand(), UsdPerHour{});
  EXPECT_NEAR(load_cluster("2xp4d.24xlarge").price_on_demand().value, 2 * 21.957642, 1e-9);
}

TEST(Links, DgxA100) {
  const Cluster c = load_cluster("4xdgx-a100-80");
  EXPECT_EQ(link_between(c, 0, 7), make_link(300, 0.936, 0));
  EXPECT_EQ(link_between(c, 7, 8), make_link(25, 2.7, 1));  // 8 x 200 Gbit/s over 8 devices
  EXPECT_EQ(link_between(c, 3, 3).bandwidth, BytesPerSecond{2000e9});
}

TEST(Links, NvlinkDomainSpansNodes) {
  const Cluster c = load_cluster("36xgb200-nvl72");  // two racks
  EXPECT_EQ(link_between(c, 0, 71), make_link(900, 0.936, 0));
  EXPECT_EQ(link_between(c, 71, 72), make_link(50, 2.7, 1));
  // A part of a rack needs no network at all.
  EXPECT_EQ(link_between(load_cluster("16xtpu-v4"), 0, 63).level, 0);
}

TEST(Links, MixedClustersTakeTheSlowerSide) {
  const Cluster c = load_cluster("1xdgx-h100+1xg5.48xlarge");
  EXPECT_DOUBLE_EQ(link_between(c, 0, 8).bandwidth.value, 12.5e9 / 8);
  EXPECT_EQ(link_between(c, 0, 8), link_between(c, 8, 0));
  EXPECT_EQ(link_between(c, 8, 9).bandwidth, BytesPerSecond{31e9});
}

TEST(Links, BridgedPairsMeetOverTheHost) {
  const Cluster c =
      load_cluster("1xn3-H100x8-NVLink", {{"cluster.groups.0.node.inside.bandwidth", "300 GB/s"},
                                          {"cluster.groups.0.node.nvlink_domain", "2"}});
  EXPECT_EQ(link_between(c, 0, 1).bandwidth, BytesPerSecond{300e9});
  EXPECT_EQ(link_between(c, 1, 2).bandwidth, BytesPerSecond{63e9});
  EXPECT_EQ(link_between(c, 1, 2).level, 0);
}

TEST(Links, AreSymmetricAndNeverFasterFurtherOut) {
  rc::check([] {
    const Cluster c = *random_cluster();
    const int a = *rc::gen::inRange(0, c.num_devices());
    const int b = *rc::gen::inRange(0, c.num_devices());
    if (a == b) return;
    RC_ASSERT(link_between(c, a, b) == link_between(c, b, a));
    const Link link = link_between(c, a, b);
    RC_ASSERT((c.node_of(a) != c.node_of(b) || link.level == 0));
    RC_ASSERT(link.level <= std::max<int>(1, static_cast<int>(c.levels.size())));
    // More of any bandwidth is never slower.
    Cluster better = c;
    for (NodeGroup& group : better.groups) {
      group.node.network *= 2;
      group.node.inside.bandwidth *= 2;
    }
    for (NetworkLevel& level : better.levels) level.bandwidth *= 2;
    RC_ASSERT(link_between(better, a, b).bandwidth >= link.bandwidth);
  });
}

}  // namespace
}  // namespace nereus::cluster::links_test
