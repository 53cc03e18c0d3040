#include "timeline/trace_walk.hpp"

#include <gtest/gtest.h>

namespace nereus::timeline::trace_walk_test {
namespace {

// The events of {"a": [{}], "traceEvents": [{"ts": 1, "args": {"x": 2}}, {}], "b": [{}]}, or of the
// array alone.
TEST(TraceWalk, KnowsWhereEventsAre) {
  for (const bool alone : {false, true}) {
    TraceWalk walk;
    const auto other = [&](const char* key) {
      walk.set_key(key);
      EXPECT_TRUE(walk.at_top(key));
      EXPECT_FALSE(walk.open_array());
      EXPECT_FALSE(walk.open_object());
      EXPECT_FALSE(walk.at_field());
      EXPECT_FALSE(walk.close_object());
      walk.close_array();
    };
    if (!alone) {
      EXPECT_FALSE(walk.open_object());
      other("a");
      walk.set_key("traceEvents");
    }
    EXPECT_FALSE(walk.has_events());
    EXPECT_TRUE(walk.open_array());
    EXPECT_TRUE(walk.has_events());
    EXPECT_TRUE(walk.at_events());
    EXPECT_TRUE(walk.open_object());
    walk.set_key("ts");
    EXPECT_TRUE(walk.at_field());
    EXPECT_FALSE(walk.in_field());
    walk.set_key("args");
    EXPECT_FALSE(walk.open_object());
    walk.set_key("x");
    EXPECT_TRUE(walk.in_field());
    EXPECT_FALSE(walk.at_field());
    EXPECT_FALSE(walk.close_object());
    EXPECT_TRUE(walk.close_object());
    EXPECT_FALSE(walk.at_top("x")) << "a key of the event before";
    EXPECT_TRUE(walk.open_object());
    EXPECT_TRUE(walk.close_object());
    walk.close_array();
    EXPECT_TRUE(walk.has_events());
    if (alone) continue;
    other("b");
    EXPECT_FALSE(walk.close_object());
    EXPECT_EQ(walk.level(), 0);
  }
}

TEST(TraceWalk, TimesAreRoundedToNanoseconds) {
  EXPECT_EQ(nanoseconds(1.0006), 1001);
  EXPECT_EQ(nanoseconds(-0.0006), -1);
  EXPECT_EQ(nanoseconds(3.9e15), 3'900'000'000'000'000'000);
  for (const double none : {4e15, -4e15, double{INFINITY}, double{NAN}})
    EXPECT_EQ(nanoseconds(none), kNoTime);
}

}  // namespace
}  // namespace nereus::timeline::trace_walk_test
