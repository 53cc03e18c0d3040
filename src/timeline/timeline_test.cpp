#include "timeline/timeline.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "timeline/timeline_testing.hpp"

namespace nereus::timeline::timeline_test {
namespace {

Timeline good() {
  Timeline t;
  t.lanes = {
      {0, "rank 0", "compute"}, {0, "rank 0", "send", Stream::kSend}, {1, "rank 1", "compute"}};
  t.slices = {{0, 0, 1'500'000, SliceKind::kForward, 0, 3},
              {2, 1'500'000, 2'000'001, SliceKind::kBackward, 1, 3},
              {1, 1'500'000, 1'700'000, SliceKind::kSend, 0, 3},
              {0, 2'000'001, 2'000'002, SliceKind::kOptimizer}};
  t.flows = {{0, 1'500'000, 1, 1'500'000, 1, "hand"}, {1, 1'600'000, 2, 2'000'001, 2, "send"}};
  t.counters = {{0, "memory", "bytes", {{0, 1}, {0, 2}, {5, 3}}}};
  t.marks = {step_mark(0, 0, 1'000'000), step_mark(1, 1'000'000, 3'000'000)};
  return t;
}

// Every way to break an invariant is found.
TEST(Timeline, FaultsAreFound) {
  EXPECT_EQ(first_fault(good()), "");
  EXPECT_EQ(good().end(), 3'000'000);
  const auto broken = [](auto change) {
    Timeline t = good();
    change(t);
    return first_fault(t) != "";
  };
  EXPECT_TRUE(broken([](Timeline& t) { t.slices[3].start = 1'000'000; }));  // the first still runs
  EXPECT_TRUE(broken([](Timeline& t) { t.slices[0].lane = 7; }));
  EXPECT_TRUE(broken([](Timeline& t) { t.slices[0].lane = -1; }));
  EXPECT_TRUE(broken([](Timeline& t) { t.slices[1].end = 0; }));
  EXPECT_TRUE(broken([](Timeline& t) { t.slices[0].start = -1; }));
  EXPECT_TRUE(broken([](Timeline& t) { std::swap(t.lanes[0], t.lanes[2]); }));
  EXPECT_TRUE(broken([](Timeline& t) { std::swap(t.lanes[0].stream, t.lanes[1].stream); }));
  EXPECT_TRUE(broken([](Timeline& t) { t.lanes[1].process_name = "other"; }));
  EXPECT_TRUE(broken([](Timeline& t) { t.flows[0].from_lane = 3; }));
  EXPECT_TRUE(broken([](Timeline& t) { t.flows[0].to_lane = -1; }));
  EXPECT_TRUE(broken([](Timeline& t) { t.flows[0].to_time = 1'499'999; }));
  EXPECT_TRUE(broken([](Timeline& t) { t.flows[1].to_time = 2'000'002; }));  // after the slice
  EXPECT_TRUE(broken([](Timeline& t) { t.flows[1].id = 1; }));
  EXPECT_TRUE(broken([](Timeline& t) { t.counters[0].samples[2].time = -1; }));
  EXPECT_TRUE(broken([](Timeline& t) { t.counters[0].samples[0].value = NAN; }));
  EXPECT_TRUE(broken([](Timeline& t) { t.counters.push_back(t.counters[0]); }));
  EXPECT_TRUE(broken([](Timeline& t) { t.marks[1].start = 999'999; }));
  EXPECT_TRUE(broken([](Timeline& t) { t.marks[1].end = 0; }));
}

RC_GTEST_PROP(Timeline, OneProcessOfATimelineIsATimeline, ()) {
  const Timeline whole = testing::make_timeline(1);
  RC_ASSERT(first_fault(whole) == "");
  std::size_t slices = 0;
  std::size_t lanes = 0;
  for (int process = 0; process < 4; ++process) {
    const Timeline part = of_process(whole, process);
    RC_ASSERT(first_fault(part) == "");
    for (const Lane& lane : part.lanes) RC_ASSERT(lane.process == process);
    slices += part.slices.size();
    lanes += part.lanes.size();
  }
  RC_ASSERT(slices == whole.slices.size());
  RC_ASSERT(lanes == whole.lanes.size());
}

}  // namespace
}  // namespace nereus::timeline::timeline_test
