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
  for (const std::size_t c : doubling(problem.counts, problem.trunk_ranks)) out.insert(c);
  return {out.begin(), out.end()};
}

}  // namespace nereus::burst
