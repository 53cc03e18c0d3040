#include "plan/degrees.hpp"

#include <gtest/gtest.h>

#include <set>

#include "plan/placement.hpp"

namespace nereus::plan::degrees_test {
namespace {

// Every enumerator has a word of its own that reads back, and nothing else reads as one.
template <class Enum, class Parse>
void expect_names(int count, Parse parse) {
  std::set<std::string_view> seen;
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    EXPECT_TRUE(seen.insert(to_string(value)).second);
    EXPECT_EQ(parse(to_string(value)), value);
  }
  EXPECT_FALSE(seen.contains("?"));
  EXPECT_EQ(to_string(static_cast<Enum>(count)), "?") << "a new enumerator needs a name";
  EXPECT_FALSE(parse("").has_value());
  EXPECT_FALSE(parse("None").has_value());
}

TEST(Names, ReadBack) {
  expect_names<Recompute>(3, parse_recompute);
  expect_names<Schedule>(9, parse_schedule);
  expect_names<ContextKind>(3, parse_context);
  expect_names<StateKind>(3, parse_state_kind);
  expect_names<Tier>(4, parse_tier);
  expect_names<Gather>(3, parse_gather);
}

TEST(Names, AreTheContractsWords) {
  EXPECT_EQ(to_string(Schedule::k1f1b), "1f1b");
  EXPECT_EQ(to_string(Schedule::kLoopedBfs), "looped-bfs");
  EXPECT_EQ(to_string(Schedule::kZbH1), "zb-h1");
  EXPECT_EQ(to_string(Recompute::kSelective), "selective");
}

}  // namespace
}  // namespace nereus::plan::degrees_test
