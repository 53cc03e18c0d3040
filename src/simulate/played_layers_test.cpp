#include "simulate/played_layers.hpp"

#include <gtest/gtest.h>

namespace nereus::simulate::played_layers_test {
namespace {

constexpr Picoseconds kSecond = 1'000'000'000'000;

// 0 on both ranks, then 1 on rank 0 beside 2 on rank 1, then 3 on both.
cost::LayerGraph diamond(double move) {
  cost::LayerGraph g;
  g.classes = {{0}, {1}};
  g.layers = {{0, {0, 1}, 1, 2}, {1, {0}, 4, 8}, {2, {1}, 3, 12}, {3, {0, 1}, 1, 2}};
  g.moves = {{0, 1, move}, {0, 2, 0}, {1, 3, 0}, {2, 3, 0}};
  return g;
}

TEST(LayerGraph, BranchesOnOtherRanksRunBesideEachOther) {
  const PlayedGraph played = play_layers(diamond(0));
  EXPECT_EQ(played.forward, 6 * kSecond);                                // 1 + max(4, 3) + 1
  EXPECT_EQ(played.end, (6 + 16) * kSecond);                             // 2 + max(8, 12) + 2
  EXPECT_DOUBLE_EQ(cost::longest_path(diamond(0)).seconds, 3 + 15 + 3);  // max(12, 15)
  EXPECT_EQ(played.classes[0].idle_forward, 0);
  EXPECT_EQ(played.classes[1].idle_forward, 1 * kSecond);
  EXPECT_EQ(played.classes[0].idle_backward, 4 * kSecond);
  EXPECT_EQ(played.classes[0].computes, 18 * kSecond);
}

TEST(LayerGraph, MovesBetweenLayersThatShareARankHoldBoth) {
  const cost::LayerGraph g = diamond(0.5);
  const PlayedGraph played = play_layers(g);
  // The move holds rank 1 too, so that layer 2 begins half a second later.
  EXPECT_EQ(played.forward, 13 * kSecond / 2);
  EXPECT_EQ(played.classes[1].moves, kSecond);
  EXPECT_EQ(cost::longest_path(g).moves, std::vector<int>{0});
  EXPECT_DOUBLE_EQ(cost::longest_path(g).seconds, 3 + 1 + 15 + 3);
}

TEST(LayerGraph, SpansOfARankAreApart) {
  const PlayedGraph played = play_layers(diamond(0.25));
  ASSERT_FALSE(played.classes.empty());
  for (const PlayedClass& own : played.classes) {
    Picoseconds last = 0;
    for (const HeldSpan& span : own.held) {
      EXPECT_GE(span.start, last);
      EXPECT_GT(span.end, span.start);
      last = span.end;
    }
    EXPECT_EQ(own.computes + own.moves + own.idle_forward + own.idle_backward, played.end);
  }
}

}  // namespace
}  // namespace nereus::simulate::played_layers_test
