// From plans that were found with prices that come near (search/burst/overlap.hpp) to better ones
// by the model's own prices: of each plan all that differ from it in one stretch of blocks are
// priced, those that no known plan beats are kept, and looked at in their turn, until nothing new
// is found.
//
//   of a run of blocks with one count   the first or the last few, or all, get another count
//   within a run                        one block to four get the next count, up or down
//   two runs at once                    one whole, of the other the first few or all; where nothing
//                                       else is left to look at
//
// Plans are of the trunk alone; those with branches on ranks of their own are kept as they are.
// What it ends with is not proven to be all there is; `overlap_test.cpp` compares with brute force.
//
//   front.plans = with_neighbours(own, std::move(front.plans));
#pragma once

#include <cstdint>
#include <vector>

#include "search/burst/overlap.hpp"

namespace nereus::burst {

// In no order. `most_tried`: plans to price before it ends early.
inline constexpr std::int64_t kMostTried = 2'000'000;
std::vector<BurstPlan> with_neighbours(const Overlapped& own, std::vector<BurstPlan> plans,
                                       std::int64_t most_tried = kMostTried);

}  // namespace nereus::burst
