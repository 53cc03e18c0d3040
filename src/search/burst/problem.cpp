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

int canonical_count(int global_batch, int count) {
  return samples_per_rank(global_batch, samples_per_rank(global_batch, count));
}

int moved_samples(int l, int next) {
  if (l == next) return 0;
  const int less = std::min(l, next), more = std::max(l, next);
  return more % less == 0 ? std::max(less, more - less) : more;
}

}  // namespace nereus::burst
