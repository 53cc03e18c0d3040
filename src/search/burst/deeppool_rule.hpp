// DeepPool's planner for a chain (Park et al., MLSys 2022; the function searchBestSplitsV3 of
// github.com/DeepPoolML/DeepPool @ 7f823f2, parallelizationPlanner.py), for comparison.
//
// Counts are powers of two. The best time that ends in (block i, count g) is found by looking at
// the counts g' of the block before, from the smallest. A g' is chosen if it is the first, or if it
// lowers the time and its amplification is below the limit or below the amplification of the
// current choice. The amplification of block i - 1 on g' ranks is its seconds there, including the
// gradient all-reduce and the move into it, times g', divided by its seconds on one rank. Blocks of
// 300 us or less on one rank have an amplification of 1. The last block's amplification is not
// checked, and there is no limit for the whole plan.
//
//   std::vector<int> candidates = deeppool_rule(problem, 2.0);
#pragma once

#include <vector>

#include "search/burst/burst_front.hpp"
#include "search/burst/problem.hpp"

namespace nereus::burst {

// Returns, for each block, an index into the problem's counts. The problem must be a chain whose
// counts start at 1.
std::vector<int> deeppool_rule(const Problem& problem, double limit);

}  // namespace nereus::burst
