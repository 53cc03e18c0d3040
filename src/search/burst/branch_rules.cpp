#include "search/burst/branch_rules.hpp"

#include <algorithm>

namespace nereus::burst {

namespace {

const Block& block_of(const Problem& problem, int block) { return problem.blocks[block]; }

template <class Of>
double sum_over(const Chain& chain, const Of& of) {
  double sum = 0;
  for (const int block : chain.blocks) sum += of(block);
  for (const Link& link : chain.links)
    for (const Branch& branch : link.branches) sum += sum_over(branch.inner, of);
  return sum;
}

std::vector<std::size_t> all_that_may_leave(const Problem& problem, const Link& link) {
  const std::size_t home = home_branch(problem, link);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < link.branches.size(); ++i)
    if (i != home && may_leave(problem, link.branches[i])) all.push_back(i);
  return all;
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

std::vector<std::size_t> may_leave(const Problem& problem, const Link& link) {
  std::vector<std::size_t> all = all_that_may_leave(problem, link);
  if (all.size() <= kMostLeaving) return all;
  std::vector<double> alone;
  for (const Branch& branch : link.branches) alone.push_back(seconds_alone(problem, branch));
  std::stable_sort(all.begin(), all.end(),
                   [&](std::size_t a, std::size_t b) { return alone[a] > alone[b]; });
  all.resize(kMostLeaving);
  std::sort(all.begin(), all.end());
  return all;
}

std::size_t num_kept_home(const Problem& problem, const Chain& chain) {
  std::size_t kept = 0;
  for (const Link& link : chain.links)
    kept += all_that_may_leave(problem, link).size() - may_leave(problem, link).size();
  return kept;
}

}  // namespace nereus::burst
