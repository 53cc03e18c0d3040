#include "search/burst/branch_rules.hpp"

#include <algorithm>

namespace nereus::burst {

namespace {

const Block& block_of(const Problem& problem, int block) {
  return problem.blocks[static_cast<std::size_t>(block)];
}

template <class Of>
double sum_over(const Chain& chain, const Of& of) {
  double sum = 0;
  for (const int block : chain.blocks) sum += of(block);
  for (const Link& link : chain.links)
    for (const Branch& branch : link.branches) sum += sum_over(branch.inner, of);
  return sum;
}

}  // namespace

double seconds_alone(const Problem& problem, const Branch& branch) {
  const auto alone = [&](int block) { return block_of(problem, block).seconds.front(); };
  double sum = sum_over(branch.inner, alone);
  for (const Link& end : branch.ends)
    for (const Branch& inner : end.branches) sum += sum_over(inner.inner, alone);
  return sum;
}

std::size_t home_branch(const Problem& problem, const Link& link) {
  std::size_t home = 0;
  for (std::size_t i = 1; i < link.branches.size(); ++i)
    if (seconds_alone(problem, link.branches[i]) > seconds_alone(problem, link.branches[home]))
      home = i;
  return home;
}

bool may_leave(const Problem& problem, const Branch& branch) {
  if (branch.edge() || !branch.ends[0].plain() || !branch.ends[1].plain()) return false;
  const double worst = sum_over(branch.inner, [&](int block) {
    const std::vector<double>& own = block_of(problem, block).memory;
    return own.empty() ? 0 : *std::max_element(own.begin(), own.end());
  });
  return worst <= problem.memory_limit;
}

}  // namespace nereus::burst
