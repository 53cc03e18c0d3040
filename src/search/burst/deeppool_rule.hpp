// DeepPool's own planner on a chain (Park et al., MLSys 2022; the function searchBestSplitsV3 of
// github.com/DeepPoolML/DeepPool @ 7f823f2, parallelizationPlanner.py), for comparison.
//
// Counts are powers of two. The best time that ends in (block i, count g) looks at the counts g' of
// the block before, from the least: one is taken if it is the first, or lowers the time and its
// amplification is below the limit or below that of the one taken so far. Amplification of block
// i - 1 on g' ranks is its seconds there, with the sum of gradients and the move into it, times g',
// over its seconds on one rank; blocks of 300 us or less on one rank count as 1. The last block is
// not looked at, and nothing bounds the whole.
//
//   std::vector<int> candidates = deeppool_rule(problem, 2.0);
#pragma once

#include <vector>

#include "search/burst/burst_front.hpp"
#include "search/burst/problem.hpp"

namespace nereus::burst {

// By block, indices into the problem's counts; the problem is a chain, its counts start at 1.
std::vector<int> deeppool_rule(const Problem& problem, double limit);

}  // namespace nereus::burst
