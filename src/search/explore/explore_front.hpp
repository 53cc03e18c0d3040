// The Pareto front: entries that no other entry beats in one goal without losing in another. All
// goals are minimized.
//
//   Front front(goals);
//   front.offer(id, values);             // in any order; of equal ones the first stays
//   for (const Front::Entry& e : front.sorted()) ...
#pragma once

#include <cstdint>
#include <vector>

#include "search/explore/study.hpp"

namespace nereus::explore {

class Front {
 public:
  struct Entry {
    std::int64_t id = 0;
    GoalValues values{};
  };

  explicit Front(std::vector<Goal> goals) : goals_(std::move(goals)) {}

  void offer(std::int64_t id, const GoalValues& values);
  // Sorted by the goals in turn.
  std::vector<Entry> sorted() const;
  std::size_t size() const { return kept_.size(); }

 private:
  bool at_least_as_good(const GoalValues& a, const GoalValues& b) const;

  std::vector<Goal> goals_;
  // Entries that recently dominated others come first, because they are likely to dominate the next
  // ones too.
  std::vector<Entry> kept_;
};

}  // namespace nereus::explore
