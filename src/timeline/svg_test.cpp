#include "timeline/svg.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

namespace nereus::timeline::svg_test {
namespace {

// Widths of all rectangles that stand for slices.
std::vector<double> widths_of(const std::string& svg) {
  std::vector<double> widths;
  const std::regex rectangle("h([0-9.]+)v");
  for (std::sregex_iterator at(svg.begin(), svg.end(), rectangle), end; at != end; ++at)
    widths.push_back(std::stod((*at)[1]));
  return widths;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Svg, HasALabelALaneAndARectangleASlice) {
  Timeline t;
  t.lanes = {{0, "rank 0", "compute"}, {0, "rank 0", "send", Stream::kSend}, {1, "rank 1", "x"}};
  t.slices = {{0, 0, 1'500'000, SliceKind::kForward, 0, 13},
              {2, 1'500'000, 2'000'001, SliceKind::kBackward, 1, 3},
              {1, 1'500'000, 1'700'000, SliceKind::kSend},
              {0, 1'900'000, 2'000'000, SliceKind::kOptimizer}};
  t.counters = {{0, "memory", "bytes", {{0, 0}, {1'000'000, 3.0 * (1 << 30)}}}};
  t.marks = {step_mark(0, 0, 1'000'000), step_mark(1, 1'000'000, 2'000'000)};
  const std::string svg = svg_picture(t, "a < b & c");
  EXPECT_TRUE(has(svg, "a &lt; b &amp; c"));
  for (const char* label : {">rank 0 compute<", ">send<", ">rank 1<", ">forward<", ">optimizer<",
                            ">13<", ">memory<", ">3.00 GiB<", ">0.4 us<", ">2 us<"})
    EXPECT_TRUE(has(svg, label)) << label;
  EXPECT_FALSE(has(svg, ">recompute<"));
  EXPECT_TRUE(has(svg, "prefers-color-scheme:dark"));
  EXPECT_EQ(widths_of(svg).size(), 4u);
  EXPECT_FALSE(has(svg_picture(t, "", {.counters = false}), ">memory<"));
  EXPECT_TRUE(has(svg_picture({}, "empty"), "</svg>"));
}

// 64 lanes of 512 micro-batches: as much is drawn as there is, and no more rectangles than can be
// seen.
TEST(Svg, NarrowSlicesAreDrawnTogether) {
  Timeline t;
  double busy = 0;
  for (int lane = 0; lane < 64; ++lane) {
    t.lanes.push_back({lane, "stage " + std::to_string(lane), "compute"});
    std::int64_t at = lane * 100;
    for (int i = 0; i < 8 * 512; ++i) {
      const std::int64_t length = 100 + 7 * (i % 5);
      const SliceKind kind = i % 3 == 0 ? SliceKind::kForward : SliceKind::kBackward;
      t.slices.push_back({lane, at, at + length, kind, 0, i / 2});
      at += length + (i % 2 == 0 ? 20 : 0);
      busy += static_cast<double>(length);
    }
  }
  ASSERT_EQ(first_fault(t), "");
  const std::string svg = svg_picture(t, "many");
  const std::vector<double> widths = widths_of(svg);
  EXPECT_LT(widths.size(), 64 * 3300u);
  double drawn = 0;
  for (const double width : widths) {
    drawn += width;
    EXPECT_GT(width, 0.3);
  }
  const double pixels = busy * 1100 / static_cast<double>(t.end());
  EXPECT_NEAR(drawn / pixels, 1, 0.15);  // gaps inside a group are drawn with it
  EXPECT_LT(svg.size(), 6'000'000u);
}

}  // namespace
}  // namespace nereus::timeline::svg_test
