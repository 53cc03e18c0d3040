#include "simulate/list_schedule.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace nereus::simulate::list_schedule_test {
namespace {

TEST(ListSchedule, ChainsAddUpAndLanesOverlap) {
  Graph graph;
  const int a = graph.add({0, 5, {}});
  graph.add({1, 7, {a}});
  const int c = graph.add({0, 4, {a}});
  graph.add({1, 1, {c}});
  const ListSchedule schedule = run(graph);
  EXPECT_EQ(schedule.starts, (std::vector<std::int64_t>{0, 5, 5, 12}));
  EXPECT_EQ(schedule.end, 13);
  EXPECT_EQ(schedule.busy, (std::vector<std::int64_t>{9, 8}));
}

TEST(ListSchedule, TheLowestNumberGoesFirst) {
  Graph graph;
  const int first = graph.add({0, 3, {}});
  graph.add({1, 3, {}});        // occupies lane 1 until first is done too
  graph.add({1, 10, {first}});  // ready at 3, as is the next
  graph.add({1, 1, {first}});
  EXPECT_EQ(run(graph).starts, (std::vector<std::int64_t>{0, 0, 3, 13}));
}

RC_GTEST_PROP(ListSchedule, IsNoShorterThanItsLanesAndKeepsItsOrder, ()) {
  Graph graph;
  const int count = *rc::gen::inRange(1, 60);
  for (int i = 0; i < count; ++i) {
    GraphNode node{*rc::gen::inRange(0, 3), *rc::gen::inRange(0, 20), {}};
    for (int j = std::max(0, i - 4); j < i; ++j)
      if (*rc::gen::inRange(0, 3) == 0) node.after.push_back(j);
    graph.add(node);
  }
  const ListSchedule schedule = run(graph);
  std::int64_t sum = 0;
  for (const std::int64_t busy : schedule.busy) {
    RC_ASSERT(schedule.end >= busy);
    sum += busy;
  }
  RC_ASSERT(schedule.end <= sum);  // some lane is always at work
  for (int i = 0; i < count; ++i) {
    const auto at = [&](int n) { return schedule.starts[n]; };
    const auto node = [&](int n) { return graph.nodes()[n]; };
    for (const int before : node(i).after) RC_ASSERT(at(i) >= at(before) + node(before).duration);
    for (int j = 0; j < i; ++j) {
      if (node(i).lane != node(j).lane) continue;
      const bool apart = at(i) >= at(j) + node(j).duration || at(j) >= at(i) + node(i).duration;
      RC_ASSERT(apart);
    }
  }
}

}  // namespace
}  // namespace nereus::simulate::list_schedule_test
