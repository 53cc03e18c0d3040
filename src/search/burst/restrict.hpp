// A burst problem with only some of its candidates: its plans are also plans of the whole problem,
// but take less time to find. Only for use inside search/burst.
//
//   const Problem part = only(problem, few_of(problem));
#pragma once

#include <set>
#include <vector>

#include "search/burst/problem.hpp"

namespace nereus::burst {

Problem only(const Problem& problem, const std::vector<std::size_t>& candidates);

// Picks candidates that represent all: those in `also`, and those that doubling() picks (each count
// at most twice the one before, if possible), with the first and the last candidate of the trunk.
std::vector<std::size_t> few_of(const Problem& problem, const std::set<std::size_t>& also = {});

}  // namespace nereus::burst
