#include "search/mixed/counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/load_cluster.hpp"
#include "model/read/load_model.hpp"
#include "search/mixed/stage_shapes.hpp"
#include "search/mixed/team_memory.hpp"
#include "stack/stack_file.hpp"

namespace nereus::mixed::counts_test {
namespace {

// Machines refers to its inputs.
struct Fixture {
  explicit Fixture(const std::string& spec, int batch = 64)
      : model(model::load_model("gpt2")),
        cluster(cluster::load_cluster(spec)),
        basis(cost::load_stack("megatron")),
        machines(model, cluster, basis, like(batch)) {}
  static plan::Placement like(int batch) {
    plan::Placement p;
    p.global_batch = batch;
    p.precision = cluster::Precision::kFp16;
    return p;
  }
  model::Model model;
  cluster::Cluster cluster;
  cost::Basis basis;
  Machines machines;
};

// Twelve kinds of one node each.
std::string many_kinds() {
  return "1xg5.xlarge+1xp3.2xlarge+1xg4dn.xlarge+1xg6.4xlarge+1xdgx-a100-40+1xdgx-a100-80+"
         "1xdgx-h100+1xp3.16xlarge+1xp3dn.24xlarge+1xg5.12xlarge+1xg4dn.12xlarge+"
         "1xworkstation-p40";
}

bool contains(const TeamCounts& counts, const std::vector<int>& uses) {
  return std::find(counts.lists.begin(), counts.lists.end(), uses) != counts.lists.end();
}

TEST(MixedCounts, EveryNumberWhereTheyAreFew) {
  Fixture f("7xg5.xlarge+7xp3.2xlarge");
  const TeamCounts counts = team_counts(f.machines, 1);
  EXPECT_TRUE(counts.every);
  EXPECT_EQ(counts.lists.size(), 63u);  // all but none at all
  EXPECT_EQ(counts.lists.front(), (std::vector{7, 7}));
  EXPECT_TRUE(contains(counts, {1, 0}));
}

TEST(MixedCounts, WhatIsTriedIsTriedWithANodeMore) {
  for (int nodes = 1; nodes < 21; ++nodes) {
    const auto spec = [](int n) {
      return std::to_string(n) + "xg5.xlarge+" + std::to_string(n) + "xp3.2xlarge";
    };
    Fixture fewer(spec(nodes)), more(spec(nodes + 1));
    const TeamCounts all = team_counts(more.machines, 1);
    for (const std::vector<int>& uses : team_counts(fewer.machines, 1).lists)
      ASSERT_TRUE(contains(all, uses)) << nodes << ": " << uses[0] << ", " << uses[1];
  }
}

TEST(MixedCounts, BoundedAndWithAllOfEveryGroup) {
  for (const char* spec : {"32xdgx-h100+32xdgx-a100-80+32xp3dn.24xlarge",
                           "60xg5.xlarge+70xp3.2xlarge", "4xdgx-a100-40+12xp3.16xlarge"}) {
    Fixture f(spec);
    const TeamCounts counts = team_counts(f.machines, 1);
    EXPECT_LE(counts.lists.size(), kMostCounts);
    EXPECT_FALSE(counts.every);
    std::vector<int> all;
    for (const Group& group : f.machines.groups()) all.push_back(group.count);
    EXPECT_EQ(counts.lists.front(), all);
  }
  Fixture f(many_kinds());
  EXPECT_LE(team_counts(f.machines, 1).lists.size(), kMostCounts);
}

TEST(MixedShapes, AreBoundedAndSaySo) {
  Fixture many(many_kinds());
  const Shapes shapes = pipeline_shapes(many.machines, {1, 2, 4, 8});
  EXPECT_LE(shapes.list.size(), kMostShapes);
  EXPECT_FALSE(shapes.every);
  EXPECT_TRUE(std::any_of(shapes.list.begin(), shapes.list.end(),
                          [](const PipelineManner& m) { return m.blocks.size() == 12; }));
  Fixture two("2xg5.xlarge+1xp3.2xlarge");
  EXPECT_TRUE(pipeline_shapes(two.machines, {1}).every);
}

// Both orders of two, widths 1 and 2: every number of stages.
TEST(MixedShapes, EveryDepthWhereTheyAreFew) {
  Fixture f("2xg5.xlarge+1xp3.2xlarge", 1);
  const Shapes shapes = pipeline_shapes(f.machines, {1});
  EXPECT_EQ(shapes.list.size(), 5u);  // 2; 1 + 1 and 2 + 1, both ways
}

TEST(MixedTeamMemory, DoesNotDependOnTheOthers) {
  for (const int zero : {0, 1, 2, 3}) {
    const auto bytes = [&](const std::vector<int>& uses) {
      Fixture f("5xg5.xlarge+5xp3.2xlarge");
      const FlatManner manner{1, plan::Recompute::kNone, 0, zero, uses};
      TeamMemory memory(f.machines, manner);
      return std::tuple(memory.without_state(0, 3, 2), memory.state(0), memory.capacity(0));
    };
    EXPECT_EQ(bytes({2, 0}), bytes({1, 1})) << zero;
    EXPECT_EQ(bytes({2, 0}), bytes({5, 5})) << zero;
    EXPECT_EQ(bytes({2, 0}), bytes({1, 4})) << zero;
  }
}

}  // namespace
}  // namespace nereus::mixed::counts_test
