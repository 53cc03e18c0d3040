// Every candidate of a space, written out. For spaces that are small enough to be predicted whole.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/regular/space.hpp"

namespace nereus::explore {

std::int64_t count_candidates(const search::Space& space);

std::vector<plan::Degrees> list_candidates(const search::Space& space);

}  // namespace nereus::explore
