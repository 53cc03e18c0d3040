#include "search/explore/study_axis.hpp"

#include <gtest/gtest.h>

#include "cluster/load_cluster.hpp"
#include "search/explore/prices.hpp"

namespace nereus::explore::study_axis_test {
namespace {

TEST(Axis, WhatIsSetIsThere) {
  for (int i = 0; i < kNumAxes; ++i) {
    const auto axis = static_cast<Axis>(i);
    cluster::Cluster c = cluster::load_cluster("16xdgx-h100");
    set(c, Axis::kExpandedMemory, 100e9);
    const double value = info(axis).unit == AxisUnit::kTopology ? 3
                         : info(axis).unit == AxisUnit::kCount  ? 32
                                                                : 2 * get(c, axis) + 1e-6;
    set(c, axis, value);
    EXPECT_DOUBLE_EQ(get(c, axis), value) << info(axis).name;
  }
}

TEST(Axis, DevicesOfANodeKeepTheirShares) {
  cluster::Cluster c = cluster::load_cluster("16xp4d.24xlarge");
  set(c, Axis::kExpandedMemory, 100e9);
  const cluster::Cluster before = c;
  set(c, Axis::kDevicesPerNode, 32);
  for (const Axis axis : {Axis::kNetworkBandwidth, Axis::kExpandedMemory, Axis::kPrice})
    EXPECT_DOUBLE_EQ(get(c, axis), get(before, axis)) << info(axis).name;
}

TEST(Axis, PeakKeepsTheOtherPrecisionsRatio) {
  cluster::Cluster c = cluster::load_cluster("1xdgx-h100");
  const cluster::Device before = c.groups[0].node.device;
  set(c, Axis::kPeak, 2 * get(c, Axis::kPeak));
  for (std::size_t p = 0; p < before.peak.size(); ++p)
    EXPECT_DOUBLE_EQ(c.groups[0].node.device.peak[p].value, 2 * before.peak[p].value);
}

TEST(Prices, UnitPricesAreOfTheDifference) {
  const cluster::Cluster own = cluster::load_cluster("2xp4d.24xlarge");
  cluster::Cluster more = own;
  set(more, Axis::kExpandedMemory, 100e9);
  Prices prices;
  prices.usd_per_s[static_cast<std::size_t>(Axis::kExpandedMemory)] = 1e-12;
  const double before = running(prices, own, own).usd_per_s;
  EXPECT_NEAR(running(prices, own, more).usd_per_s, before + 16 * 100e9 * 1e-12, 1e-12);
  prices.from_catalogue = false;
  prices.device_usd_per_s = 0.001;
  EXPECT_NEAR(running(prices, own, more).usd_per_s, 16 * (0.001 + 0.1), 1e-12);
}

}  // namespace
}  // namespace nereus::explore::study_axis_test
