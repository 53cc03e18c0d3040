#include "timeline/text_drawing.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "timeline/timeline_testing.hpp"

namespace nereus::timeline::text_drawing_test {
namespace {

TEST(TextDrawing, WhatTakesMostOfACellDecides) {
  Timeline t;
  t.lanes = {{0, "rank 0", "compute"}, {0, "rank 0", "send", Stream::kSend}, {1, "rank 1", ""}};
  t.slices = {{0, 0, 100, SliceKind::kForward, 0, 3},  {0, 100, 160, SliceKind::kForward, 0, 4},
              {0, 160, 200, SliceKind::kWeight, 0, 3}, {0, 200, 249, SliceKind::kBackward, 0, 3},
              {0, 300, 400, SliceKind::kOptimizer},    {1, 90, 120, SliceKind::kSend, 0, 3},
              {1, 150, 200, SliceKind::kReceive, 0, 3}};
  EXPECT_EQ(text_drawing(t, 4), (std::vector<std::string>{"34 *", " <  ", "    "}));
  EXPECT_EQ(text_drawing(t, 2), (std::vector<std::string>{"3*", "  ", "  "}));
  EXPECT_EQ(text_drawing(t, 1).size(), 3u);
  EXPECT_EQ(text_drawing({}, 10).size(), 0u);
}

// The same as counting every picosecond.
RC_GTEST_PROP(TextDrawing, AgreesWithCountingEveryMoment, ()) {
  Timeline t = testing::make_timeline(1);
  t.counters.clear();
  t.marks.clear();
  t.flows.clear();
  for (Slice& slice : t.slices) {  // short enough to look at every moment
    slice.start /= 50;
    slice.end /= 50;
  }
  const int columns = *rc::gen::inRange(1, 30);
  const std::vector<std::string> lines = text_drawing(t, columns);
  RC_ASSERT(lines.size() == t.lanes.size());
  const std::int64_t end = t.end();
  for (std::size_t lane = 0; lane < lines.size(); ++lane) {
    RC_ASSERT(lines[lane].size() == static_cast<std::size_t>(columns));
    // Every lane drawn alone with one column a moment gives the letter of each moment.
    Timeline alone;
    alone.lanes = {t.lanes[lane], {99, "end", ""}};
    for (Slice slice : t.slices)
      if (slice.lane == static_cast<int>(lane)) {
        slice.lane = 0;
        alone.slices.push_back(slice);
      }
    alone.slices.push_back({1, end, end});
    if (end == 0) continue;
    const std::string moments = text_drawing(alone, static_cast<int>(end))[0];
    for (int column = 0; column < columns; ++column) {
      std::map<char, int> count;
      for (std::int64_t at = end * column / columns; at < end * (column + 1) / columns; ++at)
        ++count[moments[at]];
      const char drawn = lines[lane][column];
      for (const auto& [letter, times] : count) RC_ASSERT(times <= count[drawn]);
    }
  }
}

}  // namespace
}  // namespace nereus::timeline::text_drawing_test
