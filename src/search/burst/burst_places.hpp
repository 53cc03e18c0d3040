// Where every block of a plan runs, by the steps of its label. Inside search/burst only.
#pragma once

#include <vector>

#include "search/burst/burst_front.hpp"
#include "search/burst/walk.hpp"

namespace nereus::burst {

// By block of the problem that was given, of so many. `last`: the step of the last block.
std::vector<BlockPlace> places_of(const Walk& walk, const Reduced& reduced, std::size_t num_blocks,
                                  int last);

}  // namespace nereus::burst
