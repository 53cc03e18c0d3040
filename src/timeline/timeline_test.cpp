#include "timeline/timeline.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "timeline/chrome_trace.hpp"
#include "timeline/svg.hpp"

namespace nereus::timeline {
namespace {

Timeline two_lanes() {
  Timeline t;
  t.lanes = {{0, "rank 0", "compute"}, {1, "rank \"1\"", "compute"}};
  t.slices = {{0, 0, 1'500'000, SliceKind::kForward, 0, 3},
              {1, 1'500'000, 2'000'001, SliceKind::kBackward, 1, 3},
              {0, 2'000'001, 2'000'002, SliceKind::kOptimizer}};
  return t;
}

TEST(Timeline, FaultsAreFound) {
  EXPECT_EQ(first_fault(two_lanes()), "");
  Timeline t = two_lanes();
  t.slices[2].start = 1'000'000;  // while the first still runs
  EXPECT_NE(first_fault(t), "");
  t = two_lanes();
  t.slices[0].lane = 7;
  EXPECT_NE(first_fault(t), "");
  t = two_lanes();
  t.slices[1].end = 0;
  EXPECT_NE(first_fault(t), "");
}

TEST(Timeline, ChromeTraceIsJsonWithExactTimes) {
  const auto json = nlohmann::json::parse(chrome_trace(two_lanes()));
  const auto& events = json["traceEvents"];
  ASSERT_EQ(events.size(), 4 + 3u);  // two names a lane, and the slices
  EXPECT_EQ(events[2]["args"]["name"], "rank \"1\"");
  EXPECT_EQ(events[4]["ph"], "X");
  EXPECT_EQ(events[4]["name"], "forward 3");
  EXPECT_DOUBLE_EQ(events[5]["ts"], 1.5);
  EXPECT_DOUBLE_EQ(events[5]["dur"], 0.500001);
  EXPECT_EQ(events[5]["pid"], 1);
  EXPECT_EQ(events[6]["args"], nlohmann::json::object());
}

TEST(Timeline, PictureHasARowALaneAndARectangleASlice) {
  const std::string svg = svg_picture(two_lanes(), "a < b");
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  std::size_t count = 0;
  for (std::size_t at = svg.find("<rect x="); at != std::string::npos;
       at = svg.find("<rect x=", at + 1))
    ++count;
  EXPECT_EQ(count, 3 + 3u);  // slices, and a legend of three kinds
}

}  // namespace
}  // namespace nereus::timeline
