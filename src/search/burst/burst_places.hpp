// Finds where every block of a plan runs, by following the steps of the plan's label. Only for use
// inside search/burst.
#pragma once

#include <vector>

#include "search/burst/burst_front.hpp"
#include "search/burst/walk.hpp"

namespace nereus::burst {

// One place per block of the original problem, which has `num_blocks`. `last` is the step of the
// last block.
std::vector<BlockPlace> places_of(const Walk& walk, const Reduced& reduced, std::size_t num_blocks,
                                  int last);

}  // namespace nereus::burst
