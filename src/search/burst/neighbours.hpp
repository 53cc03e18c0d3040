// Local search: improves plans that were found with approximate costs (search/burst/overlap.hpp),
// using the exact costs. For each plan, it evaluates all plans that differ in one range of blocks.
// Those that no known plan dominates are kept and examined in turn, until no new plan is found.
//
//   one row            (consecutive blocks with equal counts) its first or last few blocks, or all,
//                      get another count
//   within a row       one to four blocks get the next larger or smaller count
//   two rows at once   all blocks of one, and the first few or all of the other, get another count;
//                      only if nothing else is left to examine
//
// Only plans on the trunk are changed; plans with branches on other ranks are kept as they are. The
// result is not proven to be the whole front; `overlap_test.cpp` compares it with brute force.
//
//   front.plans = with_neighbours(own, std::move(front.plans));
#pragma once

#include <cstdint>
#include <vector>

#include "search/burst/overlap.hpp"

namespace nereus::burst {

// The result is not sorted. `most_tried` limits the number of plans that are evaluated.
inline constexpr std::int64_t kMostTried = 2'000'000;
std::vector<BurstPlan> with_neighbours(const Overlapped& own, std::vector<BurstPlan> plans,
                                       std::int64_t most_tried = kMostTried);

}  // namespace nereus::burst
