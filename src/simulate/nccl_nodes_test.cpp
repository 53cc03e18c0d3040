#include "simulate/nccl_nodes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace nereus::simulate::nccl_nodes_test {
namespace {

NcclSite any_site() {
  NcclSite site;
  site.per_node = *rc::gen::inRange(1, 9);
  site.num_ranks = site.per_node * *rc::gen::inRange(1, 9);
  site.link = *rc::gen::inRange(5, 900) * 1e9;
  site.network = *rc::gen::inRange(1, 400) * 1e9;
  site.network_step = *rc::gen::inRange(0, 50) * 1e-6;
  site.adds = *rc::gen::inRange(0, 2) == 1;
  return site;
}

RC_GTEST_PROP(NcclNodes, OneNodeIsTheModelOfOneDomain, ()) {
  NcclSite site = any_site();
  site.adds = false;
  site.num_ranks = site.per_node;
  RC_PRE(site.num_ranks > 1);
  const double bytes = *rc::gen::inRange(1, 1 << 30);
  const NcclCall call{Collective::kAllReduce, site.num_ranks, bytes, site.link};
  const double expected = collective_seconds(kNcclA100, call);
  RC_ASSERT(std::abs(all_reduce_seconds({}, site, bytes) / expected - 1) < 1e-12);
}

RC_GTEST_PROP(NcclNodes, MoreBytesNeverTakeLessAndFasterWiresNeverMore, ()) {
  const NcclSite site = any_site();
  RC_PRE(site.num_ranks > 1);
  const double bytes = *rc::gen::inRange(1, 1 << 30);
  const double seconds = all_reduce_seconds({}, site, bytes);
  RC_ASSERT(all_reduce_seconds({}, site, 1.5 * bytes) > seconds);
  NcclSite faster = site;
  faster.link *= 2;
  faster.network *= 2;
  RC_ASSERT(all_reduce_seconds({}, faster, bytes) < seconds);
  RC_ASSERT(all_reduce_seconds({}, site, bytes, NcclAlgorithm::kRing) >= seconds);
  RC_ASSERT(all_gather_seconds({}, site, bytes) <=
            all_reduce_seconds({}, site, bytes, NcclAlgorithm::kRing));
}

// Without latencies: what each wire carries.
TEST(NcclNodes, CarryWhatTheAlgorithmSays) {
  const NcclNodeNumbers ideal{{0, 1, 0, 0}, 1, 1};
  NcclSite site{.num_ranks = 16, .per_node = 8, .link = 100e9, .network = 10e9, .network_step = 0};
  EXPECT_NEAR(all_reduce_seconds(ideal, site, 8e9, NcclAlgorithm::kRing), 1.5, 1e-12);
  EXPECT_NEAR(all_reduce_seconds(ideal, site, 8e9, NcclAlgorithm::kTree), 0.8, 1e-12);
  EXPECT_NEAR(all_reduce_seconds(ideal, site, 8e9), 0.8, 1e-12);
  EXPECT_NEAR(all_gather_seconds(ideal, site, 8e9), 0.75, 1e-12);
  site.num_ranks = 32;
  EXPECT_NEAR(all_reduce_seconds(ideal, site, 8e9, NcclAlgorithm::kTree), 1.6, 1e-12);
  EXPECT_NEAR(all_reduce_seconds(ideal, site, 8e9), 1.55, 1e-12);
  site.num_ranks = 8;
  site.adds = true;
  EXPECT_NEAR(all_reduce_seconds(ideal, site, 8e9), 0.08, 1e-12);
  EXPECT_NEAR(all_reduce_seconds(ideal, site, 8e9, NcclAlgorithm::kRing), 0.14, 1e-12);
}

}  // namespace
}  // namespace nereus::simulate::nccl_nodes_test
