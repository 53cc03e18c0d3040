#include "app/simulate/simulate_collective.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "app/simulate/simulate_astra.hpp"
#include "base/base_testing.hpp"
#include "base/temporary_folder.hpp"

namespace nereus::app::simulate_collective_test {
namespace {

using nereus::testing::codes_of;

using ::testing::Contains;
using ::testing::ElementsAre;

std::string dimension(const std::string& kind, int size, const std::string& bandwidth) {
  return "[[dimensions]]\nkind = \"" + kind + "\"\nsize = " + std::to_string(size) +
         "\nbandwidth = \"" + bandwidth + "\"\nlatency = \"500 ns\"\n";
}

TEST(SimulateCollective, TheQuickestOfAllOfferedIsTheAnswer) {
  const CollectiveAnswer a = simulate_collective(
      {.collective = "all-reduce", .bytes = "64 MiB", .cluster = {"4xdgx-h100"}});
  EXPECT_EQ(a.num_ranks, 32);
  EXPECT_EQ(a.tried.size(), 15u);  // 3 inside, 5 between nodes
  for (const TriedAlgorithms& t : a.tried) EXPECT_GE(t.collective_s, a.best().collective_s);
  const CollectiveAnswer one = simulate_collective({.collective = "all-reduce",
                                                    .bytes = "64 MiB",
                                                    .cluster = {"4xdgx-h100"},
                                                    .algorithms = "ring"});
  ASSERT_EQ(one.tried.size(), 1u);
  EXPECT_GE(one.best().collective_s, a.best().collective_s);
}

// nccl-tests: for a ring that moves 2(n-1)/n of the bytes at wire speed, the bus bandwidth is that
// of the wire, for any n.
TEST(SimulateCollective, BandwidthsAreThoseOfNcclTests) {
  const TemporaryFolder folder;
  for (const int n : {2, 5, 16}) {
    const std::string file = folder.write("ring.toml", dimension("ring", n, "50 GB/s"));
    for (const char* collective : {"all-reduce", "all-gather", "reduce-scatter"}) {
      const CollectiveAnswer a = simulate_collective({.collective = collective,
                                                      .bytes = "100 GB",
                                                      .network_file = file,
                                                      .algorithms = "ring"});
      EXPECT_NEAR(a.bus_bandwidth, 50e9, 50e9 * 1e-4) << collective << n;
      EXPECT_DOUBLE_EQ(a.algorithm_bandwidth, 100e9 / a.best().collective_s);
    }
    const CollectiveAnswer all = simulate_collective(
        {.collective = "all-to-all",
         .bytes = "100 GB",
         .network_file = folder.write("s.toml", dimension("switch", n, "50 GB/s")),
         .algorithms = "direct"});
    EXPECT_NEAR(all.bus_bandwidth, 50e9, 50e9 * 1e-4);
  }
}

TEST(SimulateCollective, UnfoldedIsTheSame) {
  SimulateCollectiveRequest r{.collective = "all-gather",
                              .bytes = "1 MiB",
                              .cluster = {"2xdgx-h100"},
                              .algorithms = "ring,halving-doubling",
                              .chunks = 3};
  const CollectiveAnswer folded = simulate_collective(r);
  r.unfolded = true;
  const CollectiveAnswer unfolded = simulate_collective(r);
  EXPECT_TRUE(folded.best().simulated.folded);
  EXPECT_FALSE(unfolded.best().simulated.folded);
  EXPECT_EQ(folded.best().simulated.events_represented, unfolded.best().simulated.events);
  EXPECT_NEAR(folded.best().collective_s, unfolded.best().collective_s, 1e-10);
}

// Rows of data/collectives/astrasim_collectives.csv and of its Ring(8).
TEST(SimulateCollective, AstraSimIsEqualToTheNanosecond) {
  const TemporaryFolder folder;
  const std::string file = folder.write("r8.toml", dimension("ring", 8, "50 GiB/s"));
  const auto ns = [&](const char* bytes) {
    return std::llround(simulate_collective({.collective = "all-reduce",
                                             .bytes = bytes,
                                             .network_file = file,
                                             .algorithms = "ring",
                                             .astra_sim = true})
                            .best()
                            .collective_s *
                        1e9);
  };
  EXPECT_EQ(ns("1 MiB"), 64'440);
  EXPECT_EQ(ns("64 MiB"), 2'326'112);
  EXPECT_EQ(ns("1 GiB"), 36'790'164);
}

TEST(SimulateCollective, WhatIsWrongIsSaidAtOnce) {
  const TemporaryFolder folder;
  const auto codes = [](SimulateCollectiveRequest r) {
    return codes_of([&] { simulate_collective(r); });
  };
  EXPECT_THAT(codes({.collective = "broadcast", .bytes = "64"}),
              ElementsAre("cli.missing-argument", "collective.unknown", "spec.missing-unit"));
  SimulateCollectiveRequest r{
      .collective = "all-reduce", .bytes = "64 MiB", .cluster = {"4xdgx-h100"}};
  r.algorithms = "ring,bogus";
  EXPECT_THAT(codes(r), ElementsAre("collective.unknown-algorithm"));
  r.algorithms = "ring,ring,ring";
  EXPECT_THAT(codes(r), ElementsAre("collective.algorithms"));
  r.algorithms = "tree";
  EXPECT_THAT(codes(r), ElementsAre("collective.not-offered"));
  r.algorithms.clear();
  r.bytes = "0 B";
  EXPECT_THAT(codes(r), ElementsAre("collective.no-bytes"));
  r.bytes = "1 MiB";
  r.astra_sim = true;
  EXPECT_THAT(codes(r), ElementsAre("astra-sim.no-formula"));  // two dimensions
  const std::string six = folder.write("s6.toml", dimension("switch", 6, "50 GB/s"));
  EXPECT_THAT(codes({.collective = "all-reduce",
                     .bytes = "1 MiB",
                     .network_file = six,
                     .algorithms = "halving-doubling",
                     .astra_sim = true}),
              ElementsAre("astra-sim.no-formula"));
  EXPECT_THAT(codes({.collective = "all-reduce",
                     .bytes = "1 MiB",
                     .network_file = six,
                     .algorithms = "two-way-ring",
                     .astra_sim = true}),
              ElementsAre("astra-sim.algorithm"));
  EXPECT_THAT(codes({.collective = "all-reduce",
                     .bytes = "1 MiB",
                     .cluster = {"1xdgx-h100"},
                     .chunks = 100'000}),
              Contains("collective.chunks"));
}

// 128 layers on 1,024 devices: 22,570,062,798 ns in ASTRA-sim (commit 518bd51), which takes 256 s.
TEST(SimulateAstra, AWholeIterationIsEqualToTheNanosecond) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "astra.toml", dimension("switch", 8, "300 GiB/s") + dimension("switch", 128, "25 GiB/s"));
  AstraStepRequest r{.network_file = file, .algorithms = "ring,halving-doubling"};
  r.predict.model.model = "megatron-1t";
  r.predict.cluster = {"128xdgx-a100-80", {{"groups.0.node.device.memory_bandwidth", "2039 GB/s"}}};
  r.predict.degrees.tp = 8;
  const AstraStepAnswer a = simulate_astra(r);
  EXPECT_EQ(a.iteration.ns, 22'570'062'798);
  EXPECT_EQ(a.decoder.dp, 128);
  EXPECT_EQ(a.iteration.nodes, 128 * 19);
}

TEST(SimulateAstra, WhatItCannotExpressIsNamed) {
  AstraStepRequest r;
  r.predict.model.model = "llama3-8b";
  r.predict.cluster.cluster = "2xdgx-h100";
  r.predict.degrees.tp = 4;
  r.predict.degrees.pp = 2;
  const auto refused = [&] { return codes_of([&] { simulate_astra(r); }); };
  EXPECT_THAT(refused(), ::testing::SizeIs(4));  // gated, 14336, key-value heads, pp
  EXPECT_THAT(refused(), ::testing::Each("astra-sim.not-expressible"));
  r.predict.model.model = "gpt3-175b";
  r.predict.degrees = {.tp = 4};
  EXPECT_THAT(refused(), ElementsAre("astra-sim.not-expressible"));  // 4 of 8 devices
  r.predict.degrees = {.tp = 8, .global_batch = 4, .zero = 1};
  EXPECT_THAT(refused(), ::testing::SizeIs(2));
  r.predict.degrees = {.tp = 8};
  EXPECT_GT(simulate_astra(r).iteration.ns, 0);
}

}  // namespace
}  // namespace nereus::app::simulate_collective_test
