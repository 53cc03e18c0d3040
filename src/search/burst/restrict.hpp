// A burst problem with only some of its candidates: its plans are plans of the whole problem, and
// are found faster. Only for use inside search/burst.
//
//   const Problem part = only(problem, few_of(problem));
#pragma once

#include <set>
#include <vector>

#include "search/burst/problem.hpp"

namespace nereus::burst {

Problem only(const Problem& problem, const std::vector<std::size_t>& candidates);

// Picks candidates that represent all: those of `also`, and of the others each at most twice the
// one before if there is such a one. The first and the last candidate of the trunk are included.
std::vector<std::size_t> few_of(const Problem& problem, const std::set<std::size_t>& also = {});

}  // namespace nereus::burst
