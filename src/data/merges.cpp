#include "data/merges.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "base/random.hpp"

namespace nereus::data {

namespace {

constexpr std::size_t kLongPiece = 48;  // symbols; measured, not critical
constexpr std::uint64_t kFree = ~std::uint64_t{0};

std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) {
  return std::uint64_t{left} << 32 | right;
}

}  // namespace

std::size_t MergeTable::place_of(std::uint64_t pair) const {
  const std::size_t mask = slots_.size() - 1;
  std::uint64_t mixed = pair;
  std::size_t at = splitmix64(mixed) & mask;
  while (slots_[at].pair != kFree && slots_[at].pair != pair) at = (at + 1) & mask;
  return at;
}

void MergeTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  std::swap(old, slots_);
  for (const Slot& slot : old)
    if (slot.pair != kFree) slots_[place_of(slot.pair)] = slot;
}

void MergeTable::add(std::uint32_t left, std::uint32_t right, std::uint32_t rank,
                     std::uint32_t joined) {
  const std::uint64_t pair = pair_of(left, right);
  Slot* slot = &slots_[place_of(pair)];
  if (slot->pair == kFree) {
    if (2 * ++num_pairs_ > slots_.size()) {
      grow();
      slot = &slots_[place_of(pair)];
    }
    slot->pair = pair;
  }
  slot->merge = {rank, joined};
}

MergeTable::Merge MergeTable::find(std::uint32_t left, std::uint32_t right) const {
  return slots_[place_of(pair_of(left, right))].merge;
}

void MergeTable::apply(std::vector<std::uint32_t>& symbols) const {
  if (symbols.size() < kLongPiece)
    apply_short(symbols);
  else
    apply_long(symbols);
}

void MergeTable::apply_short(std::vector<std::uint32_t>& symbols) const {
  if (symbols.size() < 2) return;
  // pairs[i] joins symbols i and i + 1.
  static thread_local std::vector<Merge> pairs;
  pairs.clear();
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
    pairs.push_back(find(symbols[i], symbols[i + 1]));
  while (!pairs.empty()) {
    const auto best = std::min_element(
        pairs.begin(), pairs.end(), [](const Merge& a, const Merge& b) { return a.rank < b.rank; });
    if (best->rank == kNone) return;
    const auto i = static_cast<std::size_t>(best - pairs.begin());
    symbols[i] = best->joined;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    pairs.erase(best);
    if (i > 0) pairs[i - 1] = find(symbols[i - 1], symbols[i]);
    if (i < pairs.size()) pairs[i] = find(symbols[i], symbols[i + 1]);
  }
}

void MergeTable::apply_long(std::vector<std::uint32_t>& symbols) const {
  const std::size_t size = symbols.size();
  if (size < 2) return;
  struct Candidate {
    std::uint32_t rank;
    std::size_t left;
    std::uint64_t pair;  // as it was: neighbours that have changed since are no candidate
    bool operator>(const Candidate& other) const {
      return std::tie(rank, left) > std::tie(other.rank, other.left);
    }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  std::vector<std::size_t> next(size), previous(size);
  const auto offer = [&](std::size_t left) {
    if (next[left] >= size) return;
    const Merge merge = find(symbols[left], symbols[next[left]]);
    if (merge.rank != kNone)
      queue.push({merge.rank, left, pair_of(symbols[left], symbols[next[left]])});
  };
  for (std::size_t i = 0; i < size; ++i) {
    next[i] = i + 1;
    previous[i] = i == 0 ? size : i - 1;
  }
  for (std::size_t i = 0; i < size; ++i) offer(i);
  std::vector<bool> gone(size);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    const std::size_t left = best.left;
    if (gone[left] || next[left] >= size) continue;
    const std::size_t right = next[left];
    if (pair_of(symbols[left], symbols[right]) != best.pair) continue;
    symbols[left] = find(symbols[left], symbols[right]).joined;
    gone[right] = true;
    next[left] = next[right];
    if (next[left] < size) previous[next[left]] = left;
    if (previous[left] < size) offer(previous[left]);
    offer(left);
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; i = next[i]) symbols[count++] = symbols[i];
  symbols.resize(count);
}

}  // namespace nereus::data
