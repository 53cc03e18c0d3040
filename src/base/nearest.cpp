#include "base/nearest.hpp"

#include <algorithm>

namespace nereus {

namespace {

// Longer words are not typing mistakes of each other, and the distance is quadratic.
constexpr std::size_t kLongestWord = 256;
constexpr std::size_t kShortestPrefix = 3;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_prefix(std::string_view prefix, std::string_view word) {
  return prefix.size() >= kShortestPrefix && prefix.size() <= word.size() &&
         std::equal(prefix.begin(), prefix.end(), word.begin(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the dynamic programme: a swap looks two rows back.
  std::vector<int> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) current[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, previous);
    std::swap(previous, current);
    current[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = lower(a[i - 1]), y = lower(b[j - 1]);
      current[j] =
          std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x == y ? 0 : 1)});
      if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
  }
  return current[b.size()];
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  const std::string* best = nullptr;
  int best_distance = 0;
  const std::string* best_prefix = nullptr;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongestWord) continue;
    const auto longer = static_cast<int>(std::max(word.size(), candidate.size()));
    const auto shorter = static_cast<int>(std::min(word.size(), candidate.size()));
    const int most = std::min(std::max(1, longer / 3), longer - 1);
    // The difference in length is a lower bound that costs nothing.
    const int distance = longer - shorter <= most ? edit_distance(word, candidate) : longer;
    const bool near = distance <= most;
    if (near && (best == nullptr || distance < best_distance)) {
      best = &candidate;
      best_distance = distance;
    }
    if ((is_prefix(word, candidate) || is_prefix(candidate, word)) &&
        (best_prefix == nullptr || candidate.size() < best_prefix->size()))
      best_prefix = &candidate;
  }
  if (best != nullptr) return *best;
  if (best_prefix != nullptr) return *best_prefix;
  return std::nullopt;
}

}  // namespace nereus
