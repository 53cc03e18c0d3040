// Shared by tests of convolutional networks: degrees in double precision, and comparisons.
#pragma once

#include <gtest/gtest.h>

#include "worker/worker_testing.hpp"

namespace nereus::worker::testing {

inline plan::Degrees degrees(int pp, int dp, int global_batch, int micro_batch) {
  plan::Degrees d;
  d.pp = pp;
  d.dp = dp;
  d.global_batch = global_batch;
  d.micro_batch = micro_batch;
  d.precision = cluster::Precision::kFp64;
  return d;
}

inline double largest(const at::Tensor& x) { return x.abs().max().item<double>(); }

inline void expect_same(const Outcome& got, const Outcome& expected, double tolerance) {
  ASSERT_EQ(got.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < got.losses.size(); ++i)
    EXPECT_NEAR(got.losses[i] / expected.losses[i], 1, tolerance) << "step " << i;
  ASSERT_EQ(got.statistics.size(), expected.statistics.size());
  for (const auto& [name, statistics] : expected.statistics)
    EXPECT_TRUE(at::allclose(got.statistics.at(name), statistics, tolerance, tolerance)) << name;
  EXPECT_EQ(got.num_batches, expected.num_batches);
}

}  // namespace nereus::worker::testing
