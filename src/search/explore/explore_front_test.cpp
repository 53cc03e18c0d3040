#include "search/explore/explore_front.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace nereus::explore::explore_front_test {
namespace {

RC_GTEST_PROP(Front, EqualsBruteForce, ()) {
  const auto points = *rc::gen::container<std::vector<std::vector<int>>>(
      rc::gen::container<std::vector<int>>(4, rc::gen::inRange(0, 6)));
  std::vector<Goal> goals;
  for (int g = 0; g < kNumGoals; ++g)
    if (g == 0 || *rc::gen::arbitrary<bool>()) goals.push_back(static_cast<Goal>(g));
  Front front(goals);
  std::vector<GoalValues> values;
  for (std::size_t i = 0; i < points.size(); ++i) {
    GoalValues own{};
    for (std::size_t g = 0; g < own.size(); ++g) own[g] = points[i][g];
    values.push_back(own);
    front.offer(static_cast<std::int64_t>(i), own);
  }
  std::set<std::int64_t> wanted;
  for (std::size_t i = 0; i < values.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < values.size() && !beaten; ++j) {
      bool no_worse = true;
      bool better = false;
      for (const Goal goal : goals) {
        const auto g = static_cast<std::size_t>(goal);
        no_worse = no_worse && values[j][g] <= values[i][g];
        better = better || values[j][g] < values[i][g];
      }
      beaten = no_worse && (better || j < i);  // of equals the first stays
    }
    if (!beaten) wanted.insert(static_cast<std::int64_t>(i));
  }
  std::set<std::int64_t> got;
  for (const Front::Entry& entry : front.sorted()) got.insert(entry.id);
  RC_ASSERT(got == wanted);
}

}  // namespace
}  // namespace nereus::explore::explore_front_test
