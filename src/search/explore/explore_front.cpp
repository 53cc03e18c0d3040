#include "search/explore/explore_front.hpp"

#include <algorithm>

namespace nereus::explore {

bool Front::at_least_as_good(const GoalValues& a, const GoalValues& b) const {
  for (const Goal goal : goals_) {
    const auto i = static_cast<std::size_t>(goal);
    if (a[i] > b[i]) return false;
  }
  return true;
}

void Front::offer(std::int64_t id, const GoalValues& values) {
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (at_least_as_good(kept_[i].values, values)) {
      std::swap(kept_[i], kept_[i / 2]);
      return;
    }
  std::erase_if(kept_, [&](const Entry& own) { return at_least_as_good(values, own.values); });
  kept_.push_back({id, values});
}

std::vector<Front::Entry> Front::sorted() const {
  std::vector<Entry> out = kept_;
  std::sort(out.begin(), out.end(), [&](const Entry& a, const Entry& b) {
    for (const Goal goal : goals_) {
      const auto i = static_cast<std::size_t>(goal);
      if (a.values[i] != b.values[i]) return a.values[i] < b.values[i];
    }
    return a.id < b.id;
  });
  return out;
}

}  // namespace nereus::explore
