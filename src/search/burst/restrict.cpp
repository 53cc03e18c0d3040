#include "search/burst/restrict.hpp"

#include <utility>

namespace nereus::burst {

Problem only(const Problem& problem, const std::vector<std::size_t>& candidates) {
  Problem out = problem;
  const auto take = [&](auto& list) {
    auto taken = list;
    taken.clear();
    for (const std::size_t c : candidates) taken.push_back(list[c]);
    list = std::move(taken);
  };
  take(out.counts);
  for (Block& block : out.blocks) {
    take(block.seconds);
    if (!block.memory.empty()) take(block.memory);
  }
  for (const auto moves : {&Problem::near, &Problem::away}) {
    (out.*moves).clear();
    for (const std::size_t a : candidates)
      for (const std::size_t b : candidates)
        (out.*moves).push_back((problem.*moves)[a * problem.counts.size() + b]);
  }
  return out;
}

std::vector<std::size_t> few_of(const Problem& problem, const std::set<std::size_t>& also) {
  std::set<std::size_t> out = also;
  std::size_t before = 0;
  for (std::size_t c = 0; c < problem.counts.size(); ++c) {
    if (problem.counts[c] > problem.trunk_ranks) break;
    const bool last = c + 1 == problem.counts.size() || problem.counts[c + 1] > problem.trunk_ranks;
    if (c == 0 || last || problem.counts[c + 1] > 2 * problem.counts[before]) {
      out.insert(c);
      before = c;
    }
  }
  return {out.begin(), out.end()};
}

}  // namespace nereus::burst
