#include "chart/label_layout.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace nereus::chart::label_layout_test {
namespace {

constexpr Box kArea = {0, 0, 400, 300};

TEST(LabelLayout, PrefersItsSide) {
  const PointLabel label{.x = 200, .y = 150, .width = 60, .height = 14};
  const std::vector<PointLabel> labels = {label};
  const auto up = place_labels(labels, {}, kArea);
  EXPECT_GT(up[0]->left, 200);
  EXPECT_LT(up[0]->bottom, 150);
  const auto down = place_labels(labels, {}, kArea, {.side_x = -1, .side_y = 1});
  EXPECT_LT(down[0]->right, 200);
  EXPECT_GT(down[0]->top, 150);
  EXPECT_FALSE(leader_of(label, *up[0]));
  EXPECT_TRUE(leader_of(label, Box{240, 100, 300, 114}));
}

TEST(LabelLayout, LeavesOutWhatHasNoPlace) {
  const std::vector<PointLabel> labels = {{.x = 5, .y = 5, .width = 900, .height = 14},
                                          {.x = 100, .y = 100, .width = 60, .height = 14}};
  const auto places = place_labels(labels, {}, kArea);
  EXPECT_FALSE(places[0]);
  EXPECT_TRUE(places[1]);
  EXPECT_FALSE(place_labels(labels, {}, kArea, {.most = 0})[1]);
  const std::vector<Box> everywhere = {kArea};
  EXPECT_FALSE(place_labels(labels, everywhere, kArea)[1]);
}

RC_GTEST_PROP(LabelLayout, NothingOverlaps, ()) {
  std::vector<PointLabel> labels;
  std::vector<Box> obstacles;
  const int count = *rc::gen::inRange(0, 40);
  for (int i = 0; i < count; ++i) {
    const double x = *rc::gen::inRange(0, 400), y = *rc::gen::inRange(0, 300);
    labels.push_back({x, y, 1.0 * *rc::gen::inRange(5, 120), 14, *rc::gen::arbitrary<bool>()});
    obstacles.push_back({x - 4, y - 4, x + 4, y + 4});
  }
  const auto places = place_labels(labels, obstacles, kArea);
  RC_ASSERT(places.size() == labels.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i]) continue;
    RC_ASSERT(places[i]->inside(kArea));
    for (const Box& obstacle : obstacles) RC_ASSERT(!places[i]->overlaps(obstacle));
    for (std::size_t j = 0; j < i; ++j)
      if (places[j]) RC_ASSERT(!places[i]->overlaps(*places[j]));
    // Halfway of its leader it crosses no other label.
    const auto leader = leader_of(labels[i], *places[i]);
    if (!leader) continue;
    const double x = (leader->x + labels[i].x) / 2, y = (leader->y + labels[i].y) / 2;
    for (std::size_t j = 0; j < places.size(); ++j)
      if (j != i && places[j])
        RC_ASSERT(!places[j]->overlaps({x - 0.1, y - 0.1, x + 0.1, y + 0.1}));
  }
}

}  // namespace
}  // namespace nereus::chart::label_layout_test
