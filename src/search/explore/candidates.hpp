// Lists every candidate of a space, for spaces that are small enough to predict all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/regular/space.hpp"

namespace nereus::explore {

std::int64_t count_candidates(const search::Space& space);

std::vector<plan::Degrees> list_candidates(const search::Space& space);

}  // namespace nereus::explore
