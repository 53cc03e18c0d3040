#include "search/burst/labels.hpp"
#include "search/burst/never.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace nereus::burst {

void States::add(LabelList list) {
  labels_.insert(labels_.end(), list.begin(), list.end());
  begin_.push_back(labels_.size());
  seconds_.push_back(list.empty() ? kNever : list.front().seconds);
  rank_seconds_.push_back(list.empty() ? kNever : list.back().rank_seconds);
}

void keep_best(Labels& labels, double gain) {
  std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
    return std::tie(a.seconds, a.rank_seconds, a.third) <
           std::tie(b.seconds, b.rank_seconds, b.third);
  });
  const auto cheapest = std::min_element(
      labels.begin(), labels.end(),
      [](const Label& a, const Label& b) { return a.rank_seconds < b.rank_seconds; });
  const double least = labels.empty() ? 0 : cheapest->rank_seconds;
  const auto enough_of = [&](const Label& own) {
    return own.rank_seconds > least ? own.rank_seconds * (1 + gain) : least;
  };
  const bool two = std::all_of(labels.begin(), labels.end(),
                               [&](const Label& own) { return own.third == labels[0].third; });
  if (two) {
    // The last one kept has the least rank-seconds so far.
    std::size_t num = 0;
    for (const Label& own : labels)
      if (num == 0 || labels[num - 1].rank_seconds > enough_of(own)) labels[num++] = own;
    labels.resize(num);
    return;
  }
  // Least third by rank-seconds, both strictly falling along one another, of those kept so far.
  std::map<double, double> stairs;
  std::size_t kept = 0;
  for (const Label& own : labels) {
    const auto behind = stairs.upper_bound(enough_of(own));
    if (behind != stairs.begin() && std::prev(behind)->second <= own.third) continue;
    auto at = stairs.lower_bound(own.rank_seconds);
    while (at != stairs.end() && at->second >= own.third) at = stairs.erase(at);
    stairs.emplace_hint(at, own.rank_seconds, own.third);
    labels[kept++] = own;
  }
  labels.resize(kept);
}

void merge_best(Labels& into, const Labels& more, Labels& scratch) {
  if (more.empty()) return;
  Labels& both = scratch;
  both.clear();
  both.reserve(into.size() + more.size());
  const auto offer = [&](const Label& own) {
    if (both.empty() || own.rank_seconds < both.back().rank_seconds) both.push_back(own);
  };
  std::size_t i = 0;
  for (const Label& own : more) {
    const auto before = [&](const Label& known) {
      return known.seconds < own.seconds ||
             (known.seconds == own.seconds && known.rank_seconds <= own.rank_seconds);
    };
    while (i < into.size() && before(into[i])) offer(into[i++]);
    offer(own);
  }
  while (i < into.size()) offer(into[i++]);
  into.swap(both);
}

void insert_best(Labels& into, const Label& own) {
  std::size_t at = num_as_fast(into, own.seconds);
  if (at > 0 && into[at - 1].rank_seconds <= own.rank_seconds) return;
  if (at > 0 && into[at - 1].seconds == own.seconds) --at;  // as fast, and dearer
  std::size_t end = at;
  while (end < into.size() && into[end].rank_seconds >= own.rank_seconds) ++end;
  const auto place = into.begin() + static_cast<std::ptrdiff_t>(at);
  if (end == at) {
    into.insert(place, own);
    return;
  }
  *place = own;
  into.erase(place + 1, into.begin() + static_cast<std::ptrdiff_t>(end));
}

}  // namespace nereus::burst
