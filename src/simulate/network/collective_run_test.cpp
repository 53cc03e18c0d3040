#include "simulate/network/collective_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <tuple>

#include "base/base_testing.hpp"
#include "simulate/network/network_testing.hpp"

namespace nereus::simulate::collective_run_test {
namespace {

using nereus::testing::codes_of;

constexpr double kRate = 50e9, kLatency = 500e-9;

Dimension dimension(DimensionKind kind, int size) { return {kind, size, kRate, kLatency, size, 1}; }

CollectiveRequest request(Collective collective, double bytes, std::vector<Algorithm> algorithms,
                          int chunks = 1) {
  return {collective, bytes, std::move(algorithms), chunks, Folding::kWhereProvable};
}

// Rings: 2(n-1)/n of the bytes over the wire, and a latency a step.
TEST(Simulate, RingAllReduceIsItsClosedForm) {
  for (const int n : {2, 3, 8, 64}) {
    const auto r = simulate(Network({dimension(DimensionKind::kRing, n)}),
                            request(Collective::kAllReduce, 64e6, {Algorithm::kRing}));
    EXPECT_TRUE(r.folded);
    EXPECT_NEAR(r.seconds, 2.0 * (n - 1) * (64e6 / n / kRate + kLatency), 1e-10) << n;
  }
}

// Half of the bytes each way: on a ring twice as fast but for the latencies; on a switch all the
// same.
TEST(Simulate, TwoWayRingsUseBothDirections) {
  for (const int n : {3, 8, 16}) {
    const auto seconds = [&](DimensionKind kind, Collective collective) {
      return simulate(Network({dimension(kind, n)}),
                      request(collective, 64e6, {Algorithm::kTwoWayRing}))
          .seconds;
    };
    const double step = 64e6 / n / kRate;
    EXPECT_NEAR(seconds(DimensionKind::kRing, Collective::kAllReduce),
                2.0 * (n - 1) * (step / 2 + kLatency), 1e-9);
    EXPECT_NEAR(seconds(DimensionKind::kRing, Collective::kAllGather),
                (n - 1) * (step / 2 + kLatency), 1e-9);
    EXPECT_NEAR(seconds(DimensionKind::kSwitch, Collective::kAllReduce),
                2.0 * (n - 1) * (step + 2 * kLatency), 1e-9);
  }
}

// On a switch one port carries all of a rank's messages, however many it sends at once.
TEST(Simulate, DirectOnASwitchIsNotFasterThanItsPort) {
  const auto r = simulate(Network({dimension(DimensionKind::kSwitch, 8)}),
                          request(Collective::kAllReduce, 64e6, {Algorithm::kDirect}));
  EXPECT_NEAR(r.seconds, 2 * (7.0 / 8 * 64e6 / kRate + 2 * kLatency), 1e-9);
  // With a link to each it is.
  const auto full = simulate(Network({dimension(DimensionKind::kFullyConnected, 8)}),
                             request(Collective::kAllReduce, 64e6, {Algorithm::kDirect}));
  EXPECT_NEAR(full.seconds, 2 * (64e6 / 8 / kRate + kLatency), 1e-9);
}

TEST(Simulate, HalvingDoublingIsItsClosedForm) {
  const auto r = simulate(Network({dimension(DimensionKind::kSwitch, 16)}),
                          request(Collective::kAllReduce, 64e6, {Algorithm::kHalvingDoubling}));
  EXPECT_NEAR(r.seconds, 2 * (15.0 / 16 * 64e6 / kRate + 4 * 2 * kLatency), 1e-9);
}

// Six ranks: two give all they have to a partner, four halve and double, two get it back.
TEST(Simulate, HalvingDoublingOnAnyNumberOfRanks) {
  const auto r = simulate(Network({dimension(DimensionKind::kSwitch, 6)}),
                          request(Collective::kAllReduce, 64e6, {Algorithm::kHalvingDoubling}));
  EXPECT_FALSE(r.folded);
  const double wire = 64e6 / kRate;
  EXPECT_NEAR(r.seconds, 2 * (wire + 2 * kLatency) + 2 * (0.75 * wire + 2 * 2 * kLatency), 1e-8);
}

// A pipelined double tree sends and receives every byte once up and once down: near 2 B / rate.
TEST(Simulate, DoubleTreesPipelineAndOneTreeTakesAboutTwice) {
  const Network network({dimension(DimensionKind::kSwitch, 16)});
  const auto seconds = [&](Algorithm algorithm, int chunks) {
    return simulate(network, request(Collective::kAllReduce, 256e6, {algorithm}, chunks)).seconds;
  };
  const double wire = 256e6 / kRate;
  const double whole = seconds(Algorithm::kDoubleTree, 1),
               cut = seconds(Algorithm::kDoubleTree, 64);
  EXPECT_GT(cut, 15.0 / 8 * wire);  // what all-reduce needs at least
  EXPECT_LT(cut, 2.6 * wire);
  EXPECT_GT(whole, 2 * cut);
  EXPECT_GT(seconds(Algorithm::kTree, 64), 1.3 * cut);
}

TEST(Simulate, AnOversubscribedUplinkIsShared) {
  // 8 ranks, leaves of 4; everyone sends 7/8 of the bytes to others, 4/8 of them across.
  const auto seconds = [&](double oversubscription) {
    Dimension d{DimensionKind::kFatTree, 8, kRate, 0, 4, oversubscription};
    return simulate(Network({d}), request(Collective::kAllToAll, 64e6, {Algorithm::kDirect}))
        .seconds;
  };
  EXPECT_NEAR(seconds(1), 7.0 / 8 * 64e6 / kRate, 1e-9);
  EXPECT_NEAR(seconds(4), 4 * 4.0 / 8 * 64e6 / kRate, 1e-9);
  Dimension flat{DimensionKind::kFatTree, 8, kRate, 0, 8, 4};
  EXPECT_NEAR(
      simulate(Network({flat}), request(Collective::kAllToAll, 64e6, {Algorithm::kDirect})).seconds,
      7.0 / 8 * 64e6 / kRate, 1e-9);
}

TEST(Simulate, DimensionsWorkOneAfterTheOtherAndChunksOverlapThem) {
  const Network network({{DimensionKind::kSwitch, 8, 300e9, kLatency, 0, 1},
                         {DimensionKind::kSwitch, 16, 25e9, kLatency, 0, 1}});
  const auto seconds = [&](int chunks) {
    return simulate(network, request(Collective::kAllReduce, 64e6,
                                     {Algorithm::kRing, Algorithm::kRing}, chunks))
        .seconds;
  };
  const double inside = 2 * 7.0 / 8 * 64e6 / 300e9 + 14 * 2 * kLatency;
  const double outside = 2 * 15.0 / 16 * 8e6 / 25e9 + 30 * 2 * kLatency;
  EXPECT_NEAR(seconds(1), inside + outside, 1e-9);
  EXPECT_LT(seconds(8), 0.85 * seconds(1));
  EXPECT_GT(seconds(8), outside);
}

TEST(Simulate, WhatIsImpossibleIsSaid) {
  using ::testing::ElementsAre;
  const Network network({dimension(DimensionKind::kSwitch, 8)});
  EXPECT_THAT(codes_of([&] { simulate(network, request(Collective::kAllReduce, 0, {})); }),
              ElementsAre("collective.no-bytes", "collective.algorithms"));
  EXPECT_THAT(codes_of([&] {
                simulate(network, request(Collective::kAllToAll, 1, {Algorithm::kDoubleTree}));
              }),
              ElementsAre("collective.not-offered"));
  const Network large({dimension(DimensionKind::kRing, 4096)});
  EXPECT_THAT(codes_of([&] {
                simulate(large, request(Collective::kAllReduce, 1e9, {Algorithm::kRing}, 65'536));
              }),
              ElementsAre("collective.too-large"));
}

using testing::any_network;
using testing::any_request;

void expect_equal(const SimulatedCollective& one, const SimulatedCollective& all) {
  // Each rounding is of one picosecond; there are as many as steps.
  RC_ASSERT(std::abs(one.end - all.end) <= 64 + all.end / 1'000'000'000);
  RC_ASSERT(std::abs(one.fullest.share - all.fullest.share) <= 1e-6);
}

// At least 100 cases of up to 64 ranks; those that cannot fold are not counted.
TEST(Simulate, FoldedEqualsUnfolded) {
  int folded = 0;
  while (folded < 100) {
    const bool equal = rc::check("folded equals unfolded", [&] {
      const Network network = any_network(64);
      CollectiveRequest r = any_request(network);
      const SimulatedCollective one = simulate(network, r);
      r.folding = Folding::kNever;
      const SimulatedCollective all = simulate(network, r);
      folded += one.folded;
      RC_ASSERT(!all.folded);
      RC_ASSERT(all.ranks_played == network.num_ranks());
      RC_ASSERT(all.events == 3 * num_transfers(network, r));
      expect_equal(one, all);
    });
    ASSERT_TRUE(equal);
  }
}

// Every kind of dimension folds as far as fold.hpp says, and is right.
TEST(Simulate, EveryKindFoldsByItsPeriod) {
  const Dimension fly{.kind = DimensionKind::kDragonfly,
                      .size = 24,
                      .bandwidth = kRate,
                      .latency = kLatency,
                      .leaf = 2,
                      .group = 3,
                      .global_bandwidth = kRate / 4};
  const auto played = [](const std::vector<Dimension>& dimensions, Algorithm algorithm) {
    const Network network(dimensions);
    CollectiveRequest r = request(Collective::kAllReduce, 48e6, {}, 2);
    r.algorithms.assign(dimensions.size(), algorithm);
    const SimulatedCollective one = simulate(network, r);
    r.folding = Folding::kNever;
    const SimulatedCollective all = simulate(network, r);
    EXPECT_NEAR(static_cast<double>(one.end), static_cast<double>(all.end), 64);
    EXPECT_EQ(one.events_represented, all.events);
    return one.ranks_played;
  };
  const Dimension tree{DimensionKind::kFatTree, 16, kRate, kLatency, 4, 3};
  EXPECT_EQ(played({tree}, Algorithm::kRing), 4);
  EXPECT_EQ(played({tree}, Algorithm::kDirect), 4);
  EXPECT_EQ(played({tree}, Algorithm::kHalvingDoubling), 4);
  EXPECT_EQ(played({fly}, Algorithm::kRing), 6);
  EXPECT_EQ(played({fly}, Algorithm::kDirect), 6);
  EXPECT_EQ(played({fly}, Algorithm::kHalvingDoubling), 24);  // no power of two
  const Dimension node = dimension(DimensionKind::kSwitch, 4);
  Dimension rails{DimensionKind::kRails, 8, kRate / 6, kLatency, 2, 2};
  EXPECT_EQ(played({node, rails}, Algorithm::kRing), 2);
  EXPECT_EQ(played({node, rails}, Algorithm::kHalvingDoubling), 2);
  rails.leaf = 0;
  EXPECT_EQ(played({node, rails}, Algorithm::kDirect), 1);
  EXPECT_EQ(played({dimension(DimensionKind::kRing, 8)}, Algorithm::kHalvingDoubling), 8);
}

// To the picosecond where all messages have the same bytes.
TEST(Simulate, FoldedIsUnfoldedToThePicosecond) {
  for (int size = 2; size <= 64; ++size)
    for (const DimensionKind kind :
         {DimensionKind::kRing, DimensionKind::kSwitch, DimensionKind::kFullyConnected})
      for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDirect}) {
        if (algorithm == Algorithm::kDirect && size > 24) continue;
        CollectiveRequest r = request(Collective::kAllReduce, 1e6 * size, {algorithm}, 2);
        const Network network({dimension(kind, size)});
        const SimulatedCollective one = simulate(network, r);
        r.folding = Folding::kNever;
        EXPECT_EQ(one.ranks_played, 1);
        EXPECT_EQ(one.end, simulate(network, r).end) << to_string(kind) << " " << size;
      }
}

// No rank gets its share faster than its own links can carry it.
RC_GTEST_PROP(Simulate, NothingIsFasterThanItsWire, ()) {
  const Network network = any_network(48);
  const CollectiveRequest r = any_request(network);
  double into_rank = 0;
  for (const Dimension& d : network.dimensions())
    into_rank += d.bandwidth * (d.kind == DimensionKind::kRing             ? 2
                                : d.kind == DimensionKind::kFullyConnected ? d.size - 1
                                                                           : 1);
  const double n = network.num_ranks();
  const double least = (n - 1) / n * r.bytes * (r.collective == Collective::kAllReduce ? 2 : 1);
  RC_ASSERT(simulate(network, r).seconds >= least / into_rank * (1 - 1e-9));
}

// One rank stands for 4,096: as many transfers as steps. bench/network_bench.cpp has the times.
TEST(Simulate, FourThousandDevicesAreOne) {
  for (const auto& [kind, algorithm, steps] :
       {std::tuple{DimensionKind::kRing, Algorithm::kRing, 2 * 4095},
        {DimensionKind::kSwitch, Algorithm::kHalvingDoubling, 2 * 12},
        {DimensionKind::kSwitch, Algorithm::kDirect, 2 * 4096},  // a join for each half
        {DimensionKind::kSwitch, Algorithm::kRing, 2 * 4095}}) {
    const auto r = simulate(Network({dimension(kind, 4096)}),
                            request(Collective::kAllReduce, 64 << 20, {algorithm}));
    EXPECT_EQ(r.ranks_played, 1);
    EXPECT_EQ(r.events, 3 * steps);
    EXPECT_EQ(r.events_represented, 4096 * r.events);
  }
}

}  // namespace
}  // namespace nereus::simulate::collective_run_test
