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
  const GroupShape s = shape_of_range(c, 0, 8, 1);
  EXPECT_EQ(s.num_nodes, 1);
  EXPECT_EQ(s.num_domains, 4);
  EXPECT_EQ(s.between.bandwidth, BytesPerSecond{63e9});
}

TEST(Shapes, OfRegularPlans) {
  const Cluster c = load_cluster("16xdgx-h100");
  const GroupShape tensor = shape_of_range(c, 8, 8, 1);
  EXPECT_EQ(tensor.num_nodes, 1);
  EXPECT_EQ(tensor.num_domains, 1);
  EXPECT_EQ(tensor.max_per_domain, 8);
  EXPECT_EQ(tensor.slowest(), make_link(450, 0.936, 0));
  const GroupShape data = shape_of_range(c, 3, 16, 8);
  EXPECT_EQ(data.num_nodes, 16);
  EXPECT_EQ(data.max_per_node, 1);
  EXPECT_TRUE(data.regular());
  EXPECT_EQ(data.slowest(), make_link(50, 2.7, 1));
  EXPECT_EQ(data.inside, Link{});
  const GroupShape both = shape_of_range(c, 0, 32, 4);
  EXPECT_EQ(both.num_nodes, 16);
  EXPECT_EQ(both.min_per_node, 2);
  EXPECT_EQ(both.inside.bandwidth, BytesPerSecond{450e9});
  const std::vector<int> uneven = {0, 1, 2, 9};
  const GroupShape odd = shape_of(c, uneven);
  EXPECT_FALSE(odd.regular());
  EXPECT_EQ(odd.min_per_domain, 1);
  EXPECT_EQ(odd.max_per_domain, 3);
  EXPECT_EQ(shape_of(c, {}), GroupShape{});
}

TEST(Shapes, RackCountsAsOneDomain) {
  const GroupShape rack = shape_of_range(load_cluster("36xgb200-nvl72"), 0, 144, 1);
  EXPECT_EQ(rack.num_nodes, 36);
  EXPECT_EQ(rack.num_domains, 2);
  EXPECT_EQ(rack.max_per_domain, 72);
  EXPECT_EQ(rack.max_per_node, 4);
  EXPECT_EQ(rack.between, make_link(50, 2.7, 1));
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

TEST(Shapes, RangesAgreeWithLists) {
  rc::check([] {
    Cluster c = *random_cluster();
    if (*rc::gen::arbitrary<bool>()) c.groups.resize(1);
    const int size = c.num_devices();
    const int first = *rc::gen::inRange(0, size);
    const int stride = *rc::gen::inRange(1, 1 + std::min(size, 40));
    const int count = *rc::gen::inRange(0, (size - first - 1) / stride + 2);
    std::vector<int> ranks;
    for (int i = 0; i < count; ++i) ranks.push_back(first + i * stride);
    const GroupShape list = shape_of(c, ranks);
    const GroupShape range = shape_of_range(c, first, count, stride);
    RC_ASSERT(range.num_nodes == list.num_nodes);
    RC_ASSERT(range == list);
    std::set<int> nodes;
    for (const int rank : ranks) nodes.insert(c.node_of(rank));
    RC_ASSERT(list.num_nodes == static_cast<int>(nodes.size()));
    // The slowest link bounds every pair.
    for (size_t i = 0; i < ranks.size() && i < 12; ++i)
      for (size_t j = i + 1; j < ranks.size() && j < 12; ++j) {
        const Link pair = link_between(c, ranks[i], ranks[j]);
        if (list.num_domains == 1)
          RC_ASSERT(pair == list.inside);
        else
          RC_ASSERT(pair.level <= list.between.level);
      }
  });
}

}  // namespace
}  // namespace nereus::cluster::links_test
