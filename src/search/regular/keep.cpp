#include "search/regular/keep.hpp"

#include <algorithm>

namespace nereus::search {

bool same_layout(const plan::Degrees& a, const plan::Degrees& b) {
  return a.tp == b.tp && a.pp == b.pp && a.ep == b.ep && a.table_split == b.table_split;
}

bool at_least_as_good(const Values& a, const Values& b, const std::vector<Objective>& objectives) {
  for (const Objective objective : objectives)
    if (a[static_cast<std::size_t>(objective)] > b[static_cast<std::size_t>(objective)])
      return false;
  return true;
}

bool comes_before(const Candidate& a, const Candidate& b,
                  const std::vector<Objective>& objectives) {
  for (const Objective objective : objectives) {
    const auto i = static_cast<std::size_t>(objective);
    if (a.values[i] != b.values[i]) return a.values[i] < b.values[i];
  }
  const auto offloaded = [](const Candidate& c) {
    const plan::Offload& offload = c.degrees.offload;
    return offload.weights + offload.optimizer + offload.activations;
  };
  if (offloaded(a) != offloaded(b)) return offloaded(a) < offloaded(b);
  return a.prediction.memory.total < b.prediction.memory.total;
}

void Keeper::sort() {
  std::stable_sort(kept_.begin(), kept_.end(), [&](const Candidate& a, const Candidate& b) {
    return comes_before(a, b, objectives_);
  });
}

void Keeper::offer(const Candidate& candidate) {
  if (is_front()) {
    for (const Candidate& known : kept_)
      if (at_least_as_good(known.values, candidate.values, objectives_)) return;
    std::erase_if(kept_, [&](const Candidate& known) {
      return at_least_as_good(candidate.values, known.values, objectives_);
    });
    kept_.push_back(candidate);
    sort();
    return;
  }
  const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const Candidate& known) {
    return candidate.cluster == known.cluster && same_layout(candidate.degrees, known.degrees);
  });
  if (same == kept_.end())
    kept_.push_back(candidate);
  else if (comes_before(candidate, *same, objectives_))
    *same = candidate;
  else
    return;
  sort();
  if (static_cast<int>(kept_.size()) > top_) kept_.pop_back();
}

bool Keeper::beyond(const Values& bound, int cluster, const plan::Degrees& layout) const {
  if (bound[static_cast<std::size_t>(objectives_.front())] > limit_) return true;
  if (is_front())
    return std::any_of(kept_.begin(), kept_.end(), [&](const Candidate& known) {
      return at_least_as_good(known.values, bound, objectives_);
    });
  const auto value = [&](const Values& values) {
    return values[static_cast<std::size_t>(objectives_.front())];
  };
  for (const Candidate& known : kept_)
    if (cluster == known.cluster && same_layout(layout, known.degrees))
      return value(bound) > value(known.values);
  return static_cast<int>(kept_.size()) >= top_ && value(bound) > value(kept_.back().values);
}

std::vector<Candidate> Keeper::take_sorted() { return std::move(kept_); }

}  // namespace nereus::search
