#include "cost/collectives.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace nereus::cost::collectives_test {
namespace {

// 100 GB/s inside a node of 8, 10 GB/s a device between; start-ups that add up by hand.
Fabric fabric() {
  Fabric f;
  f.link = 100e9;
  f.link_latency = 1e-6;
  f.network = 10e9;
  f.network_latency = 10e-6;
  f.domain = 8;
  return f;
}

using cluster::TopologyKind;

constexpr Group kNode{8, 8};     // one node
constexpr Group kFour{32, 8};    // four nodes, all of their devices
constexpr Group kSpread{16, 1};  // one device in each of 16 nodes
constexpr double kBytes = 800e6;

using Collective = double (*)(const Fabric&, Group, double);
constexpr Collective kCollectives[] = {all_reduce_seconds, all_gather_seconds,
                                       reduce_scatter_seconds, all_to_all_seconds,
                                       broadcast_seconds};

// --- formulas by hand --------------------------------------------------------------------------

TEST(Collectives, AllGatherInsideANodeIsARing) {
  // 7/8 of the bytes at the link's rate, and seven steps.
  EXPECT_NEAR(all_gather_seconds(fabric(), kNode, kBytes), 700e6 / 100e9 + 7e-6, 1e-12);
}

TEST(Collectives, AllReduceInsideANodeIsTwoRings) {
  // Seven steps by ring, and as many by a chain inside the node: 2 (n-1)/n B / rate + 2 x 7 us.
  EXPECT_NEAR(all_reduce_seconds(fabric(), kNode, kBytes), 2 * 700e6 / 100e9 + 14e-6, 1e-12);
}

TEST(Collectives, RingBetweenNodesLeavesThroughAllCardsOfTheGroup) {
  // Eight cards of 10 GB/s are slower than the link of 100: 80 GB/s. 28 steps inside, 3 between.
  EXPECT_NEAR(all_gather_seconds(fabric(), kFour, kBytes),
              kBytes * 31 / 32 / 80e9 + 28e-6 + 3 * 10e-6, 1e-12);
  // One device a node has one card.
  EXPECT_NEAR(all_gather_seconds(fabric(), kSpread, kBytes), kBytes * 15 / 16 / 10e9 + 15 * 10e-6,
              1e-12);
}

TEST(Collectives, LinkBoundsARingWhoseCardsAreFaster) {
  Fabric f = fabric();
  f.network = 50e9;
  EXPECT_NEAR(all_gather_seconds(f, kFour, kBytes), kBytes * 31 / 32 / 100e9 + 28e-6 + 30e-6,
              1e-12);
}

TEST(Collectives, AllReduceOverManyNodesStartsAsATree) {
  // 16 nodes: 15 steps round the ring, 4 down the tree, each way.
  EXPECT_NEAR(all_reduce_seconds(fabric(), kSpread, kBytes),
              2 * kBytes * 15 / 16 / 10e9 + 2 * 4 * 10e-6, 1e-12);
}

TEST(Collectives, BroadcastSendsAllOnceDownATree) {
  EXPECT_NEAR(broadcast_seconds(fabric(), kSpread, kBytes), kBytes / 10e9 + 4 * 10e-6, 1e-12);
  EXPECT_NEAR(broadcast_seconds(fabric(), kNode, kBytes), kBytes / 100e9 + 7e-6, 1e-12);
}

TEST(Collectives, AllToAllIsAsSlowAsTheSlowerOfInsideAndOutside) {
  // Of 32 shares a rank keeps one, sends 7 inside and 24 outside through its own card.
  EXPECT_NEAR(all_to_all_seconds(fabric(), kFour, kBytes), kBytes * 24 / 32 / 10e9 + 11e-6, 1e-12);
  EXPECT_NEAR(all_to_all_seconds(fabric(), kNode, kBytes), kBytes * 7 / 8 / 100e9 + 1e-6, 1e-12);
  Fabric slow_links = fabric();
  slow_links.link = 1e9;
  EXPECT_NEAR(all_to_all_seconds(slow_links, kFour, kBytes), kBytes * 7 / 32 / 1e9 + 11e-6, 1e-12);
}

TEST(Collectives, DispatchOfEveryCopyIsAnAllToAll) {
  for (const Group group : {kNode, kFour, kSpread})
    EXPECT_EQ(dispatch_seconds(fabric(), group, kBytes, 8, 0),
              all_to_all_seconds(fabric(), group, kBytes));
}

TEST(Collectives, DispatchOnceSendsATokenOnceToARankAndOnceToANode) {
  // Two copies to 8 ranks: a given rank gets one with 1 - (7/8)^2; 7 of them are not this one.
  const double token = kBytes / 2;
  EXPECT_NEAR(dispatch_seconds(fabric(), kNode, kBytes, 2, 1),
              token * 7 * (1 - 49.0 / 64) / 100e9 + 1e-6, 1e-12);
  // To four nodes: three others, each with 1 - (3/4)^2, through the card.
  EXPECT_NEAR(dispatch_seconds(fabric(), kFour, kBytes, 2, 1),
              token * 3 * (1 - 9.0 / 16) / 10e9 + 11e-6, 1e-12);
  // One copy a token has no doubles.
  EXPECT_NEAR(dispatch_seconds(fabric(), kNode, kBytes, 1, 1),
              all_to_all_seconds(fabric(), kNode, kBytes), 1e-12);
}

RC_GTEST_PROP(CollectiveProperty, SendingOnceOverTheNetworkNeverSendsMore, ()) {
  const int per_node = *rc::gen::inRange(1, 9);
  const Group group{per_node * *rc::gen::inRange(2, 9), per_node};
  const double copies = *rc::gen::inRange(1, 23);
  Fabric f = fabric();
  f.link = 1e15;  // only the network counts
  const double all = dispatch_seconds(f, group, kBytes, copies, 0);
  const double half = dispatch_seconds(f, group, kBytes, copies, 0.5);
  const double once = dispatch_seconds(f, group, kBytes, copies, 1);
  RC_ASSERT(once <= half * (1 + 1e-12));
  RC_ASSERT(half <= all * (1 + 1e-12));
}

TEST(Collectives, SendTakesTheLinkItCrosses) {
  EXPECT_NEAR(send_seconds(fabric(), true, kBytes), kBytes / 100e9 + 1e-6, 1e-12);
  EXPECT_NEAR(send_seconds(fabric(), false, kBytes), kBytes / 10e9 + 10e-6, 1e-12);
}

TEST(Collectives, OfOneRankTakeNoTime) {
  for (Collective collective : kCollectives) EXPECT_EQ(collective(fabric(), {1, 1}, kBytes), 0);
  EXPECT_EQ(all_gather_uneven_seconds(fabric(), {1, 1}, kBytes, kBytes), 0);
}

TEST(Collectives, JitterSlowsRingsOfMoreThanFourNodes) {
  Fabric f = fabric();
  const double calm = all_gather_seconds(f, kSpread, kBytes);
  const double four = all_gather_seconds(f, kFour, kBytes);
  f.jitter = 0.1;
  EXPECT_NEAR(all_gather_seconds(f, kSpread, kBytes), calm * 1.2, 1e-12) << "two doublings past 4";
  EXPECT_EQ(all_gather_seconds(f, kFour, kBytes), four);
  Fabric still = f;
  still.jitter = 0;
  const Group eight{64, 8};
  EXPECT_NEAR(all_gather_seconds(f, eight, kBytes), all_gather_seconds(still, eight, kBytes) * 1.1,
              1e-12);
}

// --- topologies ----------------------------------------------------------------------------------

Fabric fabric_of(TopologyKind inside) {
  Fabric f = fabric();
  f.inside = inside;
  return f;
}

TEST(Topology, RingsOverAWholeLevelHaveAllItsLinks) {
  for (const TopologyKind kind : {TopologyKind::kRing, TopologyKind::kFullyConnected,
                                  TopologyKind::kFatTree, TopologyKind::kDragonfly})
    for (const Collective collective : {all_reduce_seconds, all_gather_seconds})
      EXPECT_EQ(collective(fabric_of(kind), kNode, kBytes), collective(fabric(), kNode, kBytes));
  // A torus needs fewer steps: 3 (2 - 1) of two a side, not 7.
  EXPECT_NEAR(all_gather_seconds(fabric_of(TopologyKind::kTorus), kNode, kBytes),
              700e6 / 100e9 + 3e-6, 1e-12);
}

TEST(Topology, AllToAllOnARingGoesAQuarterRound) {
  // 0 + 1 + 2 + 3 + 4 + 3 + 2 + 1 links of eight: 16/8 B over the device's rate; 4 links at most.
  EXPECT_NEAR(all_to_all_seconds(fabric_of(TopologyKind::kRing), kNode, kBytes),
              2 * kBytes / 100e9 + 4e-6, 1e-12);
  // Two and three neighbours meet directly.
  for (const int n : {2, 3})
    EXPECT_NEAR(all_to_all_seconds(fabric_of(TopologyKind::kRing), {n, n}, kBytes),
                kBytes * (n - 1) / n / 100e9 + 1e-6, 1e-12);
}

TEST(Topology, AllToAllOnATorusGoesAQuarterOfASide) {
  // 4 x 4 x 4: one link a side on average, on two of six links: three times the bytes.
  Fabric f = fabric_of(TopologyKind::kTorus);
  f.domain = 64;
  EXPECT_NEAR(all_to_all_seconds(f, {64, 64}, kBytes), 3 * kBytes / 100e9 + 6e-6, 1e-12);
}

TEST(Topology, AFullConnectionHasALinkForEachPair) {
  const Fabric f = fabric_of(TopologyKind::kFullyConnected);
  EXPECT_NEAR(send_seconds(f, true, kBytes), 7 * kBytes / 100e9 + 1e-6, 1e-12);
  EXPECT_EQ(all_to_all_seconds(f, kNode, kBytes), all_to_all_seconds(fabric(), kNode, kBytes));
  // Two of eight devices have one link of seven, four have three.
  EXPECT_NEAR(all_gather_seconds(f, {2, 2}, kBytes), kBytes / 2 * 7 / 100e9 + 1e-6, 1e-12);
  EXPECT_NEAR(all_to_all_seconds(f, {4, 4}, kBytes), kBytes / 4 * 7 / 100e9 + 1e-6, 1e-12);
}

TEST(Topology, AMessageHasOneLink) {
  EXPECT_NEAR(send_seconds(fabric_of(TopologyKind::kRing), true, kBytes), 2 * kBytes / 100e9 + 1e-6,
              1e-12);
  EXPECT_NEAR(send_seconds(fabric_of(TopologyKind::kTorus), true, kBytes),
              6 * kBytes / 100e9 + 1e-6, 1e-12);
  Fabric f = fabric();
  f.between = TopologyKind::kFullyConnected;
  f.num_joined = 5;
  EXPECT_NEAR(send_seconds(f, false, kBytes), 4 * kBytes / 10e9 + 10e-6, 1e-12);
  EXPECT_EQ(send_seconds(f, true, kBytes), send_seconds(fabric(), true, kBytes));
}

TEST(Topology, CountsBetweenNodesToo) {
  Fabric f = fabric();
  f.between = TopologyKind::kRing;
  // Sixteen nodes of one device each: 64 links to 15 others.
  EXPECT_NEAR(all_to_all_seconds(f, kSpread, kBytes), kBytes * 64 / 16 / 10e9 + 1e-6 + 8 * 10e-6,
              1e-12);
}

// --- where a group lies --------------------------------------------------------------------------

void expect_group(Group group, int size, int per_node) {
  EXPECT_EQ(group.size, size);
  EXPECT_EQ(group.per_node, per_node);
}

TEST(GroupOf, NeighboursFillNodes) {
  expect_group(group_of(4, 1, 8), 4, 4);
  expect_group(group_of(8, 1, 8), 8, 8);
  expect_group(group_of(32, 1, 8), 32, 8);
}

TEST(GroupOf, StrideThinsThemOut) {
  expect_group(group_of(16, 2, 8), 16, 4);
  expect_group(group_of(16, 4, 8), 16, 2);
  expect_group(group_of(16, 8, 8), 16, 1);
  expect_group(group_of(16, 64, 8), 16, 1);
}

TEST(GroupOf, AWideDomainHoldsMore) {
  expect_group(group_of(16, 8, 72), 16, 9);
  expect_group(group_of(8, 8, 72), 8, 8);
}

TEST(GroupOf, OneRankIsAlone) { expect_group(group_of(1, 4, 8), 1, 1); }

// --- properties ----------------------------------------------------------------------------------

double random_between(double least, double most) {
  return least * std::pow(most / least, *rc::gen::inRange(0, 10001) * 1e-4);
}

Fabric random_fabric() {
  Fabric f;
  f.link = random_between(1e9, 1e12);
  f.network = random_between(1e8, 1e11);
  f.link_latency = random_between(1e-7, 1e-4);
  f.network_latency = random_between(1e-6, 1e-3);
  f.domain = *rc::gen::element(1, 2, 4, 8, 16, 72);
  f.jitter = *rc::gen::inRange(0, 50) * 0.01;
  f.inside = static_cast<TopologyKind>(*rc::gen::inRange(0, 6));
  f.between = static_cast<TopologyKind>(*rc::gen::inRange(0, 6));
  f.num_joined = *rc::gen::element(1, 2, 16, 128, 2048);
  return f;
}

Group random_group(int domain) {
  return group_of(1 << *rc::gen::inRange(0, 11), 1 << *rc::gen::inRange(0, 8), domain);
}

constexpr double kRounding = 1 + 1e-12;

// Nothing is quicker than through a switch, but for a torus' fewer steps.
RC_GTEST_PROP(TopologyProperty, NoneIsQuickerThanASwitch, ()) {
  Fabric f = random_fabric();
  f.link_latency = f.network_latency = 0;
  Fabric switches = f;
  switches.inside = switches.between = TopologyKind::kSwitch;
  const Group group = random_group(f.domain);
  const double bytes = random_between(1, 1e11);
  for (Collective collective : kCollectives)
    RC_ASSERT(collective(f, group, bytes) * kRounding >= collective(switches, group, bytes));
  for (const bool same : {false, true})
    RC_ASSERT(send_seconds(f, same, bytes) >= send_seconds(switches, same, bytes));
}

RC_GTEST_PROP(CollectivesProperty, MoreBandwidthOrLessLatencyIsNeverSlower, ()) {
  const Fabric f = random_fabric();
  Fabric better = f;
  better.link *= random_between(1, 100);
  better.network *= random_between(1, 100);
  better.link_latency /= random_between(1, 100);
  better.network_latency /= random_between(1, 100);
  const Group group = random_group(f.domain);
  const double bytes = random_between(1, 1e11);
  for (Collective collective : kCollectives)
    RC_ASSERT(collective(better, group, bytes) <= collective(f, group, bytes) * kRounding);
  const double largest = bytes * random_between(1.0 / group.size, 1);
  RC_ASSERT(all_gather_uneven_seconds(better, group, bytes, largest) <=
            all_gather_uneven_seconds(f, group, bytes, largest) * kRounding);
  const bool same_node = *rc::gen::arbitrary<bool>();
  RC_ASSERT(send_seconds(better, same_node, bytes) <= send_seconds(f, same_node, bytes));
}

RC_GTEST_PROP(CollectivesProperty, MoreBytesAreNeverFaster, ()) {
  const Fabric f = random_fabric();
  const Group group = random_group(f.domain);
  const double bytes = random_between(1, 1e11);
  const double more = bytes * random_between(1, 100);
  for (Collective collective : kCollectives)
    RC_ASSERT(collective(f, group, bytes) <= collective(f, group, more));
}

RC_GTEST_PROP(CollectivesProperty, AllReduceIsAReduceScatterAndAnAllGather, ()) {
  Fabric f = random_fabric();
  f.link_latency = f.network_latency = f.jitter = 0;
  const Group group = random_group(f.domain);
  const double bytes = random_between(1, 1e11);
  const double both = reduce_scatter_seconds(f, group, bytes) + all_gather_seconds(f, group, bytes);
  RC_ASSERT(std::abs(all_reduce_seconds(f, group, bytes) - both) <= 1e-12 * both);
}

RC_GTEST_PROP(CollectivesProperty, NoCollectiveBeatsItsWire, ()) {
  const Fabric f = random_fabric();
  const Group group = random_group(f.domain);
  RC_PRE(group.size > group.per_node);
  const double bytes = random_between(1, 1e11);
  // What has to enter a node, through all cards the group has there.
  const double outside = bytes * (group.size - group.per_node) / group.size;
  RC_ASSERT(all_gather_seconds(f, group, bytes) >= outside / (f.network * group.per_node));
}

RC_GTEST_PROP(CollectivesProperty, EqualPiecesAreAnEvenAllGather, ()) {
  const Fabric f = random_fabric();
  const Group group = random_group(f.domain);
  const double bytes = random_between(1e3, 1e11);
  const double even = all_gather_seconds(f, group, bytes);
  const double pieces = all_gather_uneven_seconds(f, group, bytes, bytes / group.size);
  RC_ASSERT(std::abs(pieces - even) <= 1e-9 * even);
}

RC_GTEST_PROP(CollectivesProperty, OneLargePieceIsNeitherFreeNorPaddedToAll, ()) {
  const Fabric f = random_fabric();
  const Group group = random_group(f.domain);
  const double bytes = random_between(1e3, 1e11);
  const double largest = bytes * random_between(1.0 / group.size, 1);
  const double uneven = all_gather_uneven_seconds(f, group, bytes, largest);
  RC_ASSERT(uneven >= all_gather_seconds(f, group, bytes) * (1 - 1e-9));
  RC_ASSERT(uneven <= 1.18 * all_gather_seconds(f, group, largest * group.size) * kRounding);
}

// Eight GPUs of one node, nearly even pieces: github.com/openucx/ucc/pull/347, microseconds.
struct UccRow {
  double bytes, padded, grouped;
};
constexpr UccRow kUcc[] = {
    {8192, 133, 110.8},          {16384, 140.5, 104.8},      {32768, 134.8, 107.6},
    {65536, 141.6, 109.7},       {131072, 140.2, 113.3},     {262144, 146.8, 124.9},
    {524288, 150, 141.4},        {1048576, 157.3, 167.3},    {2097152, 189.6, 198},
    {4194304, 216.9, 217.6},     {8388608, 263, 266.5},      {16777216, 331, 378.2},
    {33554432, 502.9, 601.5},    {67108864, 827.3, 1019.3},  {134217728, 1464, 1880.2},
    {268435456, 2786.1, 3574.3}, {536870912, 5378.6, 5685.1}};

TEST(Collectives, UnevenFormsAreAsMeasured) {
  Fabric f;
  f.link = 97e9 * 7 / 8;  // both fitted to the table
  f.link_latency = 124e-6 / 7;
  f.domain = 8;
  std::vector<double> errors;
  for (const UccRow& row : kUcc) {
    const UnevenSeconds ours = uneven_forms(f, {8, 8}, row.bytes, 1.001 * row.bytes / 8);
    errors.push_back(std::abs(1e6 * ours.padded / row.padded - 1));
    errors.push_back(std::abs(1e6 * ours.grouped / row.grouped - 1));
    EXPECT_LT(errors[errors.size() - 2], 0.15) << row.bytes;
    EXPECT_LT(errors.back(), 0.30) << row.bytes;
    // What the wrong choice of form costs.
    const double chosen = ours.grouped < ours.padded ? row.grouped : row.padded;
    EXPECT_LE(chosen, 1.07 * std::min(row.grouped, row.padded)) << row.bytes;
    if (row.bytes < 1e6 || row.bytes > 8e6) {
      EXPECT_EQ(ours.grouped < ours.padded, row.grouped < row.padded) << row.bytes;
    }
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() / 2], 0.08);
  // Padding costs more as shares grow uneven.
  const UnevenSeconds large = uneven_forms(f, {8, 8}, 1e9, 0.5e9);
  EXPECT_LT(large.grouped, large.padded / 2);
}

}  // namespace
}  // namespace nereus::cost::collectives_test
