#include "search/mixed/canonical.hpp"

#include <gtest/gtest.h>

#include "cluster/load_cluster.hpp"

namespace nereus::mixed::canonical_test {
namespace {

TEST(MixedCanonical, EqualGroupsAreOneInOneOrder) {
  const Canonical apart = canonical(cluster::load_cluster("1xg5.xlarge+2xp3.2xlarge+3xg5.xlarge"));
  const Canonical turned = canonical(cluster::load_cluster("2xp3.2xlarge+4xg5.xlarge"));
  ASSERT_EQ(apart.cluster.groups.size(), 2u);
  EXPECT_EQ(apart.cluster.groups, turned.cluster.groups);
  EXPECT_FALSE(apart.same);
  std::vector<int> ranks = apart.rank_of;
  // Those of a group follow one another, as the user counts them.
  const bool g5_first = apart.cluster.groups.front().count == 4;
  EXPECT_EQ(ranks, g5_first ? (std::vector{0, 3, 4, 5, 1, 2}) : (std::vector{1, 2, 0, 3, 4, 5}));
}

TEST(MixedCanonical, PricesMakeNoKinds) {
  cluster::Cluster two = cluster::load_cluster("1xg5.xlarge+1xp3.2xlarge");
  two.groups.back() = two.groups.front();
  two.groups.back().node.price.on_demand = UsdPerHour{17};
  EXPECT_EQ(canonical(two).cluster.groups.size(), 1u);
  two.groups.back().node.network = BytesPerSecond{17};
  EXPECT_EQ(canonical(two).cluster.groups.size(), 2u);
}

TEST(MixedCanonical, RanksWithNeighboursStay) {
  cluster::Cluster levels = cluster::load_cluster("1xp3.2xlarge+1xg5.xlarge+1xp3.2xlarge");
  levels.levels.insert(levels.levels.begin(), levels.levels.front());
  levels.levels.front().size = 2;
  const Canonical kept = canonical(levels);
  EXPECT_TRUE(kept.same);
  EXPECT_EQ(kept.cluster, levels);
}

TEST(MixedCanonical, TeamsAndStateAreRenumbered) {
  plan::Placement p;
  plan::LayerRun run;
  plan::Replicas teams;
  teams.count = 3;
  teams.tp = teams.team_stride = 2;
  teams.micro_batch = 5;
  run.replicas = {teams};
  plan::StateShare share;
  share.cut = share.num_slices = 2;
  share.ranks = {{0, 3, 2}};
  share.pieces = 3;
  run.state = {share};
  p.runs = {run};
  // Four ranks of the kind come after two of another, two before.
  const auto moved = renumbered(p, {0, 1, 4, 5, 6, 7, 2, 3});
  ASSERT_TRUE(moved);
  const auto& replicas = moved->runs.front().replicas;
  ASSERT_EQ(replicas.size(), 2u);
  EXPECT_EQ(replicas[0].first, 0);
  EXPECT_EQ(replicas[0].count, 1);
  EXPECT_EQ(replicas[1].first, 4);
  EXPECT_EQ(replicas[1].count, 2);
  EXPECT_EQ(replicas[1].first_sample, 5);
  EXPECT_EQ(moved->runs.front().state.front().ranks, (plan::RankSet{{0, 1, 2}, {4, 2, 2}}));
  EXPECT_FALSE(renumbered(p, {0, 4, 1, 5, 2, 6, 3, 7}));  // a team would be torn
}

}  // namespace
}  // namespace nereus::mixed::canonical_test
