#include "simulate/network/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "simulate/network/network_testing.hpp"

namespace nereus::simulate::network_test {
namespace {

constexpr double kRate = 50e9, kLatency = 500e-9;

std::vector<LinkClass> classes_of(const Network& network, int from, int to) {
  std::vector<LinkClass> classes;
  for (const LinkUse& use : network.route(from, to).links)
    classes.push_back(network.class_of(network.place_of(use.link)));
  return classes;
}

TEST(Network, RoutesTurnDimensionByDimension) {
  const Dimension ring{DimensionKind::kRing, 4, kRate, kLatency};
  const Network torus({ring, ring});
  EXPECT_EQ(torus.route(0, 1).links.size(), 1u);
  EXPECT_EQ(torus.route(0, 3).links.size(), 1u);  // backwards
  EXPECT_EQ(torus.route(0, 10).links.size(), 4u);
  EXPECT_EQ(torus.route(0, 10).latency, 4 * picoseconds(kLatency));
}

// 2 groups of 2 routers of 2 ranks: from each group one link leaves router 0 (g - 1 = 1 link).
TEST(Network, DragonflyRoutesAreLocalGlobalLocal) {
  const Network network({{.kind = DimensionKind::kDragonfly,
                          .size = 8,
                          .bandwidth = kRate,
                          .latency = kLatency,
                          .leaf = 2,
                          .group = 2}});
  using enum LinkClass;
  EXPECT_THAT(classes_of(network, 0, 1), ::testing::ElementsAre(kUp, kDown));
  EXPECT_THAT(classes_of(network, 0, 2), ::testing::ElementsAre(kUp, kLocal, kDown));
  EXPECT_THAT(classes_of(network, 0, 4), ::testing::ElementsAre(kUp, kGlobal, kDown));
  EXPECT_THAT(classes_of(network, 2, 4), ::testing::ElementsAre(kUp, kLocal, kGlobal, kDown));
  EXPECT_THAT(classes_of(network, 2, 6),
              ::testing::ElementsAre(kUp, kLocal, kGlobal, kLocal, kDown));
  EXPECT_EQ(network.route(2, 6).latency, 5 * picoseconds(kLatency));
  // Both ends of one cable are the same two routers, whichever way it is crossed.
  const Dimension d{.kind = DimensionKind::kDragonfly, .size = 54, .leaf = 2, .group = 3};
  std::map<int, std::set<int>> by_router;
  for (int i = 0; i < d.num_groups(); ++i)
    for (int j = 0; j < d.num_groups(); ++j) {
      if (i == j) continue;
      const int out = gateway(d, i, j);
      EXPECT_GE(out, 0);
      EXPECT_LT(out, d.group);
      by_router[i * d.group + out].insert(j);
    }
  for (const auto& [router, groups] : by_router) EXPECT_LE(groups.size(), 3u);  // ceil(8 / 3)
}

// 4 devices a node, 3 nodes: another slot is reached inside the node first, then by its rail.
TEST(Network, RailsAreReachedThroughTheNode) {
  const Network network(
      {{DimensionKind::kSwitch, 4, 300e9, 1e-6},
       {.kind = DimensionKind::kRails, .size = 3, .bandwidth = 50e9, .latency = 2e-6}});
  EXPECT_EQ(network.route(0, 4).links.size(), 2u);  // same slot: the rail alone
  const Network::Path other = network.route(1, 4 + 2);
  ASSERT_EQ(other.links.size(), 4u);
  EXPECT_EQ(other.latency, 2 * picoseconds(1e-6) + 2 * picoseconds(2e-6));
  const auto place = [&](std::size_t i) { return network.place_of(other.links[i].link); };
  EXPECT_EQ(place(0).dimension, 0);
  EXPECT_EQ(place(2).dimension, 1);
  EXPECT_EQ(place(2).owner, 2);  // the NIC of slot 2 in the first node
  EXPECT_EQ(network.capacity_of(other.links[0].link), 300e9);
  EXPECT_EQ(network.capacity_of(other.links[2].link), 50e9);
  // Nobody shares a NIC: of two devices of a node to another node, no rail link is the same.
  EXPECT_NE(network.route(0, 4).links[0].link, network.route(1, 5).links[0].link);
}

TEST(Network, CapacitiesAreThoseOfTheirClass) {
  const Dimension tree{DimensionKind::kFatTree, 8, kRate, 0, 4, 2};
  EXPECT_EQ(capacity(tree, LinkClass::kUp), kRate);
  EXPECT_EQ(capacity(tree, LinkClass::kLeafUp), 2 * kRate);
  Dimension fly{.kind = DimensionKind::kDragonfly,
                .size = 8,
                .bandwidth = kRate,
                .leaf = 2,
                .group = 2,
                .global_bandwidth = 3 * kRate};
  EXPECT_EQ(capacity(fly, LinkClass::kLocal), kRate);
  EXPECT_EQ(capacity(fly, LinkClass::kGlobal), 3 * kRate);
}

std::vector<std::string> messages_of(const std::vector<Dimension>& dimensions) {
  std::vector<std::string> messages;
  try {
    Network network(dimensions);
  } catch (const Errors& errors) {
    for (const Error& error : errors.list()) {
      EXPECT_THAT(error.code, ::testing::StartsWith("network."));
      messages.push_back(error.message);
    }
  }
  return messages;
}

TEST(Network, WhatIsImpossibleIsSaid) {
  using ::testing::ElementsAre;
  using ::testing::HasSubstr;
  const double inf = std::numeric_limits<double>::infinity();
  const auto one = [](Dimension d) { return messages_of({d}); };
  EXPECT_THAT(one({DimensionKind::kRing, 0, 0, -1}),
              ElementsAre(HasSubstr("0 ranks"), HasSubstr("carries nothing"), HasSubstr("-1 s")));
  EXPECT_THAT(one({DimensionKind::kSwitch, 4, inf, 0}), ElementsAre(HasSubstr("inf bytes")));
  EXPECT_THAT(one({DimensionKind::kFatTree, 8, 1e9, 0, 3}), ElementsAre(HasSubstr("leaves of 3")));
  EXPECT_THAT(one({DimensionKind::kFatTree, 8, 1e9, 0, 0}), ElementsAre(HasSubstr("leaves of 0")));
  EXPECT_THAT(one({DimensionKind::kFatTree, 8, 1e9, 0, 4, 0.5}),
              ElementsAre(HasSubstr("oversubscription 0.5")));
  EXPECT_THAT(one({DimensionKind::kRails, 8, 1e9, 0}), ElementsAre(HasSubstr("no node before")));
  EXPECT_THAT(one({DimensionKind::kDragonfly, 8, 1e9, 0, 2, 1, 0}),
              ElementsAre(HasSubstr("groups of 0")));
  EXPECT_THAT(one({DimensionKind::kDragonfly, 8, 1e9, 0, 2, 1, 3}),
              ElementsAre(HasSubstr("groups of 3 do not divide 4 routers")));
  EXPECT_THAT(one({DimensionKind::kDragonfly, 8, 1e9, 0, 2, 1, 2, -1, inf}),
              ElementsAre(HasSubstr("-1 bytes"), HasSubstr("inf bytes")));
  EXPECT_THAT(messages_of({}), ElementsAre(HasSubstr("has a dimension")));
  EXPECT_THAT(messages_of({{DimensionKind::kSwitch, 1 << 15, 1e9, 0},
                           {DimensionKind::kSwitch, 1 << 15, 1e9, 0}}),
              ElementsAre(HasSubstr("ranks")));
}

// The capacity of links that every route from `inside` to the others crosses: of the candidates
// below the one that carries least. Of each class of links that all these routes cross, those they
// use; and those that only such routes use.
double cut_capacity(const Network& network, const std::function<bool(int)>& inside) {
  std::map<std::pair<int, LinkClass>, std::set<int>> by_class;
  std::map<std::pair<int, LinkClass>, int> crossed_by;
  std::set<int> others;
  std::vector<Route> crossing;
  for (int a = 0; a < network.num_ranks(); ++a)
    for (int b = 0; b < network.num_ranks(); ++b) {
      if (a == b) continue;
      const Route links = network.route(a, b).links;
      if (!inside(a) || inside(b)) {
        for (const LinkUse& use : links) others.insert(use.link);
        continue;
      }
      std::set<std::pair<int, LinkClass>> met;
      for (const LinkUse& use : links) {
        const Network::LinkPlace place = network.place_of(use.link);
        met.insert({place.dimension, network.class_of(place)});
        by_class[{place.dimension, network.class_of(place)}].insert(use.link);
      }
      for (const auto& key : met) ++crossed_by[key];
      crossing.push_back(links);
    }
  const auto sum = [&](const std::set<int>& links) {
    double total = 0;
    for (const int link : links) total += network.capacity_of(link);
    return total;
  };
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [key, links] : by_class)
    if (crossed_by[key] == static_cast<int>(crossing.size())) least = std::min(least, sum(links));
  std::set<int> only;
  bool all = true;
  for (const Route& route : crossing) {
    bool cut = false;
    for (const LinkUse& use : route)
      if (!others.contains(use.link)) cut = only.insert(use.link).first != only.end();
    all &= cut;
  }
  return all ? std::min(least, sum(only)) : least;
}

// What must leave k of n ranks. All-reduce: the others need their part of every sum. Reduce-
// scatter: the same for the sums that the others keep. All-gather: the pieces of the k.
double must_leave(Collective collective, double bytes, double k, double n) {
  switch (collective) {
    case Collective::kAllReduce:
      return bytes;
    case Collective::kReduceScatter:
      return bytes * (n - k) / n;
    case Collective::kAllGather:
      return bytes * k / n;
    default:
      return bytes * k * (n - k) / n;
  }
}

// For every dimension, every cut between its coordinates: no collective is shorter than what must
// cross the cut takes on it.
RC_GTEST_PROP(Network, NothingIsFasterThanItsWire, ()) {
  const Network network = testing::any_network(24);
  const CollectiveRequest r = testing::any_request(network);
  const double seconds = simulate(network, r).seconds;
  double least = 0;
  for (std::size_t d = 0; d < network.dimensions().size(); ++d) {
    const int size = network.dimensions()[d].size;
    for (int k = 1; k < size; ++k) {
      const double capacity = cut_capacity(
          network, [&](int rank) { return network.coordinate(rank, static_cast<int>(d)) < k; });
      const double share = static_cast<double>(k) / size, n = network.num_ranks();
      least = std::max(least, must_leave(r.collective, r.bytes, n * share, n) / capacity);
    }
  }
  RC_ASSERT(least > 0);
  RC_ASSERT(seconds >= least * (1 - 1e-9));
}

// The cuts are sharp: direct all-to-all on an oversubscribed tree takes just what its uplinks need.
TEST(Network, TheCutOfATaperedTreeIsItsUplinks) {
  const Network network({{DimensionKind::kFatTree, 8, kRate, 0, 4, 4}});
  const double cut = cut_capacity(network, [](int rank) { return rank < 4; });
  EXPECT_EQ(cut, kRate);
  const auto r = simulate(network, {Collective::kAllToAll, 64e6, {Algorithm::kDirect}});
  EXPECT_NEAR(r.seconds, must_leave(Collective::kAllToAll, 64e6, 4, 8) / cut, 1e-9);
  EXPECT_EQ(r.fullest.link, LinkClass::kLeafUp);
  EXPECT_NEAR(r.fullest.share, 1, 1e-6);
}

}  // namespace
}  // namespace nereus::simulate::network_test
