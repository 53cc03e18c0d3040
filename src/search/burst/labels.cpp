#include "search/burst/labels.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace nereus::burst {

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

void merge_best(Labels& into, const Labels& more) {
  if (more.empty()) return;
  Labels both;
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
  into = std::move(both);
}

}  // namespace nereus::burst
