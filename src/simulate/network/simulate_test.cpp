#include "simulate/network/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cmath>

#include "simulate/network/fold.hpp"

namespace nereus::simulate {
namespace {

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

TEST(Network, RoutesTurnDimensionByDimension) {
  const Network torus({dimension(DimensionKind::kRing, 4), dimension(DimensionKind::kRing, 4)});
  EXPECT_EQ(torus.route(0, 1).links.size(), 1u);
  EXPECT_EQ(torus.route(0, 3).links.size(), 1u);  // backwards
  EXPECT_EQ(torus.route(0, 10).links.size(), 4u);
  EXPECT_EQ(torus.route(0, 10).latency, 4 * picoseconds(kLatency));
}

std::vector<std::string> codes_of(const std::function<void()>& call) {
  std::vector<std::string> codes;
  try {
    call();
  } catch (const Errors& errors) {
    for (const Error& error : errors.list()) codes.push_back(error.code);
  }
  return codes;
}

TEST(Simulate, WhatIsImpossibleIsSaid) {
  using testing::ElementsAre;
  EXPECT_THAT(codes_of([] {
                Network({{DimensionKind::kRing, 0, 0, -1, 0, 1}});
              }),
              ElementsAre("network.impossible", "network.impossible", "network.impossible"));
  EXPECT_THAT(codes_of([] {
                Network({{DimensionKind::kFatTree, 8, 1e9, 0, 3, 1}});
              }),
              ElementsAre("network.impossible"));
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

Network any_network(int most) {
  std::vector<Dimension> dimensions;
  int ranks = 1;
  const int count = *rc::gen::inRange(1, 4);
  for (int i = 0; i < count && ranks < most; ++i) {
    Dimension d = dimension(static_cast<DimensionKind>(*rc::gen::inRange(0, 4)),
                            *rc::gen::inRange(2, std::max(3, std::min(17, most / ranks + 1))));
    d.bandwidth = *rc::gen::inRange(1, 400) * 1e9;
    d.latency = *rc::gen::inRange(0, 2000) * 1e-9;
    if (d.kind == DimensionKind::kFatTree && d.size % 2 == 0 && *rc::gen::arbitrary<bool>()) {
      d.leaf = d.size / 2;
      d.oversubscription = *rc::gen::inRange(1, 5);
    }
    ranks *= d.size;
    dimensions.push_back(d);
  }
  return Network(dimensions);
}

CollectiveRequest any_request(const Network& network) {
  CollectiveRequest r;
  r.collective = static_cast<Collective>(*rc::gen::inRange(0, 4));
  r.bytes = *rc::gen::inRange(1, 1 << 28);
  r.chunks = *rc::gen::inRange(1, 4);
  for (std::size_t i = 0; i < network.dimensions().size(); ++i)
    r.algorithms.push_back(static_cast<Algorithm>(*rc::gen::inRange(0, 3)));
  return r;
}

// At least 100 cases of up to 64 ranks; those that cannot fold are not counted.
TEST(Simulate, FoldedEqualsUnfolded) {
  int folded = 0;
  const bool equal = rc::check("folded equals unfolded", [&] {
    const Network network = any_network(64);
    RC_PRE(network.num_ranks() <= 64);
    CollectiveRequest r = any_request(network);
    const SimulatedCollective one = simulate(network, r);
    r.folding = Folding::kNever;
    const SimulatedCollective all = simulate(network, r);
    folded += one.folded;
    RC_ASSERT(!all.folded);
    // Each rounding is of one picosecond; there are as many as steps.
    RC_ASSERT(std::abs(one.end - all.end) <= 64 + all.end / 1'000'000'000);
  });
  EXPECT_TRUE(equal);
  int checked = 0;
  for (int size = 2; size <= 64; ++size)
    for (const DimensionKind kind :
         {DimensionKind::kRing, DimensionKind::kSwitch, DimensionKind::kFullyConnected})
      for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDirect}) {
        if (algorithm == Algorithm::kDirect && size > 24) continue;
        CollectiveRequest r = request(Collective::kAllReduce, 1e6 * size, {algorithm}, 2);
        const Network network({dimension(kind, size)});
        const SimulatedCollective one = simulate(network, r);
        r.folding = Folding::kNever;
        EXPECT_TRUE(one.folded);
        EXPECT_EQ(one.end, simulate(network, r).end) << to_string(kind) << " " << size;
        ++checked;
      }
  EXPECT_GE(checked + folded, 100);
}

// No rank gets its share faster than its own links can carry it.
RC_GTEST_PROP(Simulate, NothingIsFasterThanItsWire, ()) {
  const Network network = any_network(48);
  RC_PRE(network.num_ranks() <= 48);
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

TEST(Simulate, FourThousandDevicesTakeMilliseconds) {
  for (const auto& [kind, algorithm] : {std::pair{DimensionKind::kRing, Algorithm::kRing},
                                        {DimensionKind::kSwitch, Algorithm::kHalvingDoubling},
                                        {DimensionKind::kSwitch, Algorithm::kDirect},
                                        {DimensionKind::kSwitch, Algorithm::kRing}}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto r = simulate(Network({dimension(kind, 4096)}),
                            request(Collective::kAllReduce, 64 << 20, {algorithm}));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(r.folded);
    EXPECT_LT(took.count(), 0.05);  // 10 ms on a quiet machine
    RecordProperty(std::string(to_string(algorithm)), std::to_string(took.count()));
  }
}

}  // namespace
}  // namespace nereus::simulate
