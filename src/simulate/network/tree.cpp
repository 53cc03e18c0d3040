#include <algorithm>

#include "simulate/network/algorithms.hpp"

namespace nereus::simulate {

namespace {

// In-order binary tree over 0 ... n-1 with root 0: the lowest set bit of a rank is its height, so
// odd ranks are leaves.
int parent_of(int rank, int n) {
  const int bit = rank & -rank;
  const int up = (rank ^ bit) | (bit << 1);
  return up < n ? up : rank ^ bit;
}

std::vector<std::vector<int>> levels_of(int n) {
  std::vector<std::vector<int>> levels;
  for (int rank = 0; rank < n; ++rank) {
    std::size_t depth = 0;
    for (int at = rank; at != 0; at = parent_of(at, n)) ++depth;
    levels.resize(std::max(levels.size(), depth + 1));
    levels[depth].push_back(rank);
  }
  return levels;
}

}  // namespace

std::vector<int> add_tree(Program& program, const Phase& phase, double bytes,
                          const std::vector<int>& after) {
  const int n = phase.size;
  const int trees = phase.algorithm == Algorithm::kDoubleTree ? 2 : 1;
  const auto levels = levels_of(n);
  std::vector<int> all;
  for (int tree = 0; tree < trees; ++tree) {
    // The second tree is the first one mirrored (even n) or shifted by one (odd n): its leaves are
    // the even ranks, which are inner nodes of the first.
    const auto place = [&](int rank) {
      return tree == 0 ? rank : n % 2 == 0 ? n - 1 - rank : (rank + 1) % n;
    };
    const auto add = [&](const std::vector<int>& children, bool up, std::vector<int> waits) {
      Exchange e;
      e.dimension = phase.dimension;
      e.pattern = Exchange::Pattern::kPairs;
      e.bytes = bytes / trees;
      for (const int child : children) {
        const int a = place(child), b = place(parent_of(child, n));
        e.pairs.push_back(up ? std::pair{a, b} : std::pair{b, a});
      }
      e.after = std::move(waits);
      all.push_back(static_cast<int>(program.size()));
      program.push_back(std::move(e));
      return all.back();
    };
    std::vector<int> deeper;
    for (std::size_t level = levels.size() - 1; level > 0; --level) {
      std::vector<int> waits = after;
      waits.insert(waits.end(), deeper.begin(), deeper.end());
      deeper = {add(levels[level], true, std::move(waits))};
    }
    std::vector<int> above = deeper;  // the root has the whole
    for (std::size_t level = 1; level < levels.size(); ++level)
      above = {add(levels[level], false, above)};
  }
  return all;
}

}  // namespace nereus::simulate
