// Every run of ASTRA-sim that has a formula, to the nanosecond, and what it cannot do.
#include "simulate/compat/astra_sim.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate/compat/astra_table.hpp"
#include "tests/source_dir.hpp"

namespace nereus::simulate::astra_sim_test {
namespace {

using ::testing::HasSubstr;

std::string data(const std::string& name) { return source_dir() + "/data/collectives/" + name; }

// Rows that are equal; a row with a formula that differs is a failure.
int equal_rows(const std::string& file) {
  int equal = 0;
  for (const AstraCollectiveRow& row : read_astra_collectives(spec::read_csv(data(file)))) {
    if (row.dimensions.size() != 1 || row.simulated_ns < 0) continue;
    const AstraOutcome outcome =
        astra_time(row.system, row.dimensions[0], row.collective, row.bytes);
    if (!outcome.why_not.empty()) continue;
    EXPECT_EQ(outcome.ns, row.simulated_ns) << file << " line " << row.line;
    equal += outcome.ns == row.simulated_ns;
  }
  return equal;
}

TEST(AstraSim, EqualsItsRunsToTheNanosecond) {
  EXPECT_EQ(equal_rows("astrasim_collectives.csv"), 97);  // 91 published formulas, 6 of our own
  EXPECT_EQ(equal_rows("astrasim_scaling.csv"), 14);
  EXPECT_EQ(equal_rows("astrasim_sensitivity.csv"), 17);
}

const AstraDimension kRing8{AstraTopology::kRing, AstraAlgorithm::kRing, 8, 50, 500};

// Edge cases that were run as well.
TEST(AstraSim, ARemainderIsOneMoreWholeChunk) {
  EXPECT_EQ(astra_time({}, kRing8, Collective::kAllReduce, 1'000'003).ns, 78'485);
  EXPECT_EQ(astra_time({}, kRing8, Collective::kAllReduce, 1).ns, 28'600);
  EXPECT_EQ(astra_time({}, kRing8, Collective::kAllReduce, 0).ns, 28'600);
  const AstraDimension switch12{AstraTopology::kSwitch, AstraAlgorithm::kRing, 12, 50, 500};
  EXPECT_EQ(astra_time({}, switch12, Collective::kAllReduce, 1 << 20).ns, 126'364);
}

TEST(AstraSim, WhatNeverFinishesThereIsRefusedHere) {
  AstraDimension d{AstraTopology::kSwitch, AstraAlgorithm::kHalvingDoubling, 6, 50, 500};
  EXPECT_THAT(astra_time({}, d, Collective::kAllReduce, 1 << 20).why_not,
              HasSubstr("power of two: 4 or 8"));
  d.num_ranks = 8;
  EXPECT_EQ(astra_time({}, d, Collective::kAllReduce, 1 << 20).why_not, "");
  EXPECT_THAT(astra_time({}, d, Collective::kAllToAll, 1 << 20).why_not,
              HasSubstr("no all-to-all"));
  d.bandwidth = 1e-6;
  d.num_ranks = 65'536;
  EXPECT_THAT(astra_time({}, d, Collective::kAllGather, std::int64_t{1} << 44).why_not,
              HasSubstr("64 bits"));
}

std::string errors_of(const std::string& rows) {
  try {
    read_astra_collectives(
        spec::parse_csv("topology,npus_per_dim,link_bandwidth_GBps_per_dim,link_latency_ns_per_dim,"
                        "algorithm_per_dim,collective,bytes,simulated_ns\n" +
                            rows,
                        "t.csv"));
  } catch (const Errors& errors) {
    std::string all;
    for (const Error& error : errors.list()) all += error.message + "|" + error.hint + "\n";
    return all;
  }
  return "";
}

TEST(AstraTable, SaysAllThatIsImpossibleAtOnce) {
  EXPECT_EQ(errors_of("Ring,8,50,500,ring,All-Reduce,1,1\n"), "");
  const std::string all = errors_of(
      "Ring,8,0,500,ring,All-Reduce,1048576,1\n"
      "Switch,8,50,500,halvingDubling,All-Reduce,1048576,1\n"
      "Ring_Ring,8,50,500,ring,All-Reduce,1048576,1\n"
      "Ring,8,50,500,ring,All-Sum,1048576,1\n");
  EXPECT_THAT(all, HasSubstr("link_bandwidth_GBps_per_dim is \"0\""));
  EXPECT_THAT(all, HasSubstr("did you mean \"halvingDoubling\"?"));
  EXPECT_THAT(all, HasSubstr("npus_per_dim has 1 entry for 2 dimensions"));
  EXPECT_THAT(all, HasSubstr("collective \"All-Sum\" is not known"));
}

}  // namespace
}  // namespace nereus::simulate::astra_sim_test
