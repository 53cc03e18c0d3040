#include "timeline/svg.hpp"

#include <gtest/gtest.h>

namespace nereus::timeline {
namespace {

TEST(Svg, HasARowALaneAndARectangleASlice) {
  Timeline t;
  t.lanes = {{0, "rank 0", "compute"}, {1, "rank \"1\"", "compute"}};
  t.slices = {{0, 0, 1'500'000, SliceKind::kForward, 0, 3},
              {1, 1'500'000, 2'000'001, SliceKind::kBackward, 1, 3},
              {0, 2'000'001, 2'000'002, SliceKind::kOptimizer}};
  const std::string svg = svg_picture(t, "a < b");
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
}

}  // namespace
}  // namespace nereus::timeline
