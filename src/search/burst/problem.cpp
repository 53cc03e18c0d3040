#include "search/burst/problem.hpp"

#include <algorithm>

namespace nereus::burst {

std::vector<int> candidate_counts(int global_batch, int most) {
  std::vector<int> counts;
  for (int l = global_batch; l >= 1; --l) {
    const int count = (global_batch + l - 1) / l;
    if (count > most) break;
    if (counts.empty() || count > counts.back()) counts.push_back(count);
  }
  return counts;
}

std::vector<int> powers_of_two(int global_batch, int most) {
  std::vector<int> counts;
  for (int count = 1; count <= std::min(global_batch, most); count *= 2) counts.push_back(count);
  return counts;
}

std::vector<std::size_t> doubling(const std::vector<int>& counts, int most, int all_to) {
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < counts.size() && counts[i] <= most; ++i) {
    const bool last = i + 1 == counts.size() || counts[i + 1] > most;
    if (some.empty() || last || counts[i] <= all_to || counts[i + 1] > 2 * counts[some.back()])
      some.push_back(i);
  }
  return some;
}

std::vector<int> some_counts(const std::vector<int>& counts, int most, int all_to) {
  std::vector<int> all(counts.begin(), std::upper_bound(counts.begin(), counts.end(), most));
  if (all.size() <= kFewCounts) return all;
  std::vector<int> some;
  for (const std::size_t i : doubling(all, most, all_to)) some.push_back(all[i]);
  return some;
}

int canonical_count(int global_batch, int count) {
  return samples_per_rank(global_batch, samples_per_rank(global_batch, count));
}

int moved_samples(int l, int next) {
  if (l == next) return 0;
  const int less = std::min(l, next), more = std::max(l, next);
  return more % less == 0 ? std::max(less, more - less) : more;
}

}  // namespace nereus::burst
