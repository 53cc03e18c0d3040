#include "chakra/chakra_play.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "chakra/test_steps.hpp"
#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "plan/complete.hpp"
#include "simulate/network/cluster_network.hpp"
#include "stack/stack_file.hpp"

namespace nereus::chakra::chakra_play_test {
namespace {

using simulate::Dimension;
using simulate::DimensionKind;
using simulate::Network;

ChakraStep step_of(const plan::DegreesRequest& request, const char* name = "llama3-8b",
                   const char* machines = "4xdgx-h100") {
  const model::Model model = model::load_model(name);
  const cluster::Cluster cluster = cluster::load_cluster(machines);
  return make_step(model, cluster, cost::Basis(cost::builtin_stacks().resolve("megatron")),
                   plan::complete_degrees(request, model, cluster).degrees);
}

Network network(double inside, double outside, double latency = 1e-6) {
  return Network(
      {{DimensionKind::kSwitch, 8, inside, latency}, {DimensionKind::kRails, 4, outside, latency}});
}

double microseconds(const RankGraph& graph) {
  double sum = 0;
  for (const GraphNode& node : graph.nodes)
    if (node.type == NodeType::kCompute) sum += static_cast<double>(node.microseconds);
  return sum;
}

TEST(PlayLayers, TakesTheKernelsWhereLinksCostNothing) {
  const ChakraStep step = step_of({.tp = 2, .global_batch = 32});
  const LayerPlay play = play_layers(step, network(1e18, 1e18, 0));
  EXPECT_NEAR(play.seconds, microseconds(step.graphs[0]) * 1e-6, 1e-6 * play.seconds);
  EXPECT_NEAR(play.exposed, 0, 1e-6 * play.seconds);
  EXPECT_GT(play.collectives, 0);
  EXPECT_EQ(play.nodes, static_cast<std::int64_t>(step.graphs[0].nodes.size()));
}

// Exposed all-reduces of one rank's chain: as long as the network plays each of them.
TEST(PlayLayers, AddsTensorCollectivesThatNothingHides) {
  const ChakraStep step = step_of({.tp = 8, .dp = 1, .global_batch = 1}, "llama3-8b", "1xdgx-h100");
  const Network slow({{DimensionKind::kSwitch, 8, 1e9, 1e-6}});
  const LayerPlay play = play_layers(step, slow);
  // A ring or direct exchange moves 2 x 7/8 of the bytes through every port, an all-gather or
  // reduce-scatter half of that; 2 latencies and more for each.
  double bytes = 0;
  int collectives = 0;
  for (const GraphNode& node : step.graphs[0].nodes) {
    if (node.type != NodeType::kCollective) continue;
    ++collectives;
    const double whole =
        static_cast<double>(node.bytes) * (node.comm == CommType::kAllGather ? 8 : 1);
    bytes += whole * 7 / 8 * (node.comm == CommType::kAllReduce ? 2 : 1);
  }
  EXPECT_GE(play.exposed, bytes / 1e9 + collectives * 2e-6);
  EXPECT_LE(play.exposed, bytes / 1e9 * 1.001 + collectives * 32e-6);
}

TEST(PlayLayers, RunsDataTrafficBesideTheRest) {
  plan::DegreesRequest request{.tp = 8, .global_batch = 16};
  ChakraStep beside = step_of(request);
  const LayerPlay play = play_layers(beside, network(450e9, 5e9));
  const model::Model model = model::load_model("llama3-8b");
  const cluster::Cluster cluster = cluster::load_cluster("4xdgx-h100");
  plan::Degrees degrees = plan::complete_degrees(request, model, cluster).degrees;
  degrees.data_overlap = false;
  const ChakraStep after =
      make_step(model, cluster, cost::Basis(cost::builtin_stacks().resolve("megatron")), degrees);
  EXPECT_LT(play.seconds, play_layers(after, network(450e9, 5e9)).seconds);
}

// More bandwidth everywhere is never slower where every rank does one thing at a time.
RC_GTEST_PROP(PlayLayers, AreNoSlowerOnFasterLinks, ()) {
  const double inside = 1e9 * *rc::gen::inRange(1, 900);
  const double outside = 1e8 * *rc::gen::inRange(1, 900);
  plan::DegreesRequest request{.tp = 4, .pp = *rc::gen::element(1, 2, 4), .global_batch = 64};
  const ChakraStep step = step_of(request);
  const LayerPlay slow = play_layers(step, network(inside, outside));
  const LayerPlay fast = play_layers(step, network(2 * inside, 2 * outside));
  RC_ASSERT(fast.seconds <= slow.seconds * 1.001);
  RC_ASSERT(slow.seconds >= slow.compute);
}

TEST(PlayLayers, TakeEveryScheduleAndGroupOfTheCatalogue) {
  for (int schedule = 0; schedule < 9; ++schedule) {
    plan::DegreesRequest request{.tp = 2, .pp = 4, .global_batch = 64, .zero = 1};
    request.schedule = static_cast<plan::Schedule>(schedule);
    if (*request.schedule == plan::Schedule::kZbV ||
        *request.schedule == plan::Schedule::kInterleaved)
      request.interleave = 2;
    if (*request.schedule == plan::Schedule::kVaruna) request.recompute = plan::Recompute::kFull;
    const LayerPlay play =
        play_layers(step_of(request), simulate::network_of(cluster::load_cluster("4xdgx-h100")));
    EXPECT_GT(play.seconds, play.compute);
  }
  const LayerPlay experts = play_layers(step_of({.tp = 2, .ep = 4, .zero = 3}, "mixtral-8x7b"),
                                        simulate::network_of(cluster::load_cluster("4xdgx-h100")));
  EXPECT_GT(experts.exposed, 0);
}

}  // namespace
}  // namespace nereus::chakra::chakra_play_test
