#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cluster/load_cluster.hpp"
#include "measure/machine_compare.hpp"
#include "measure/machine_links.hpp"

namespace nereus::measure::machine_test {
namespace {

using profile::Profile;
using profile::Quantiles;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Quantiles around(double median, double share) {
  return {median, median * (1 - share), median * (1 + share), 5};
}

Profile measured(double slower) {
  Profile p;
  p.machine.context.device = "CPU";
  p.machine.context.library = "libtorch 1.13.1";
  p.machine.kernels = {{"gemm", "fp32", {8, 8, 8}, 1024, 768, around(1e-6 * slower, 0.05)},
                       {"norm", "fp32", {8, 8}, 64, 64, around(1e-6, 0.05)}};
  p.machine.disk = {"/data", 1e6, {around(1e9, 0.2), 1e6, 1e6}, {around(5e9, 0.2), 1e6, 0}};
  return p;
}

TEST(MachineCompare, AgreesWithinSpreads) {
  const Comparison same = compare_machines(measured(1), measured(1.08));
  EXPECT_EQ(same.numbers.size(), 4u);
  EXPECT_TRUE(same.agree());
  EXPECT_NEAR(same.numbers[0].difference, 0.08, 1e-9);

  const Comparison other = compare_machines(measured(1), measured(1.3));
  EXPECT_FALSE(other.agree());
  EXPECT_EQ(other.num_differing(), 1);
  EXPECT_EQ(other.numbers[0].what, "gemm fp32 8 x 8 x 8");
  EXPECT_FALSE(other.numbers[0].agrees);
}

// Intervals where both have them, at a level that all of them share; ranges for the others.
TEST(MachineCompare, TestsNumbersOfSeveralProcessesByTheirIntervals) {
  Profile a = measured(1), b = measured(1.08);
  for (Profile* own : {&a, &b}) {
    own->machine.kernels[0].seconds.processes = own->machine.kernels[1].seconds.processes = 5;
    own->machine.kernels[0].seconds.half_width = 5e-9;
    own->machine.kernels[1].seconds.half_width = 5e-8;
  }
  b.machine.kernels[1].seconds.median = 1.08e-6;
  const Comparison c = compare_machines(a, b);
  EXPECT_EQ(c.num_tested, 2);
  EXPECT_DOUBLE_EQ(c.confidence, 0.975);
  // Half widths of 0.5 % are joined to 0.5 % sqrt(2) t(0.9875, 8) / t(0.975, 4) = 0.70 %.
  EXPECT_NEAR(c.numbers[0].half_width, 5e-9 * std::sqrt(2) * 2.7515 / 2.7764, 1e-11);
  EXPECT_FALSE(c.numbers[0].agrees);
  EXPECT_FALSE(c.numbers[1].agrees);
  EXPECT_FALSE(c.numbers[2].has_interval);
  EXPECT_TRUE(c.numbers[2].agrees);
  b.machine.kernels[1].seconds.half_width = 2e-7;
  EXPECT_TRUE(compare_machines(a, b).numbers[1].agrees);
}

TEST(MachineCompare, SaysWhatOneOfThemLacksAndHowTheyDiffer) {
  Profile a = measured(1), b = measured(1);
  a.machine.kernels.pop_back();
  b.machine.preparations = {{"tokens", 10, around(100, 0.1)}};
  b.machine.context.library = "libtorch 2.1.0";
  const Comparison c = compare_machines(a, b);
  EXPECT_TRUE(c.first_only.empty());
  EXPECT_THAT(c.second_only, ElementsAre("norm fp32 8 x 8", "preparation of tokens"));
  EXPECT_THAT(c.other_contexts, ElementsAre("library: libtorch 1.13.1, then libtorch 2.1.0"));
}

TEST(MachineCompare, LayersCountWithTheirSpreads) {
  Profile a;
  profile::MeasuredLayer layer;
  layer.model = "m";
  layer.layer = "block";
  layer.samples = {1, 2};
  layer.forward = {1e-3, 2e-3};
  layer.forward_low = {0.9e-3, 1.8e-3};
  layer.forward_high = {1.1e-3, 2.2e-3};
  a.layers = {layer};
  Profile b = a;
  b.layers[0].forward[1] = b.layers[0].forward_low[1] = b.layers[0].forward_high[1] = 3e-3;
  const Comparison c = compare_machines(a, b);
  ASSERT_EQ(c.numbers.size(), 2u);
  EXPECT_TRUE(c.numbers[0].agrees);
  EXPECT_FALSE(c.numbers[1].agrees);
}

profile::Machine with_links(double slow_rate) {
  profile::Machine machine;
  for (int a = 0; a < 4; ++a)
    for (int b = a + 1; b < 4; ++b)
      for (const double bytes : {4e3, 1e8}) {
        const double rate = a == 0 && b == 3 ? slow_rate : 200e9;
        machine.links.push_back({a, b, true, bytes, around(bytes / rate, 0.01)});
      }
  return machine;
}

TEST(MachineLinks, OneBadLinkAmongGoodOnes) {
  EXPECT_TRUE(slow_links(with_links(190e9), nullptr).empty());
  const std::vector<SlowLink> slow = slow_links(with_links(100e9), nullptr);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].from, 0);
  EXPECT_EQ(slow[0].to, 3);
  EXPECT_NEAR(slow[0].rate, 100e9, 1);
  EXPECT_THAT(slow[0].why, HasSubstr("50 % of the 200 GB/s of the median pair"));
}

// All links of a machine are slow alike: only what was paid for tells.
TEST(MachineLinks, AllSlowerThanTheCatalogueStates) {
  const cluster::Cluster stated = cluster::load_cluster("1xdgx-h100");  // 450 GB/s one way
  EXPECT_EQ(slow_links(with_links(200e9), nullptr).size(), 0u);
  const std::vector<SlowLink> slow = slow_links(with_links(200e9), &stated);
  EXPECT_EQ(slow.size(), 6u);
  EXPECT_THAT(slow[0].why, HasSubstr("that the cluster states"));
}

}  // namespace
}  // namespace nereus::measure::machine_test
