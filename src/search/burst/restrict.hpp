// A burst problem on some of its candidates alone: its plans are plans of the whole, and found
// sooner. Inside search/burst only.
//
//   const Problem part = only(problem, few_of(problem));
#pragma once

#include <set>
#include <vector>

#include "search/burst/problem.hpp"

namespace nereus::burst {

Problem only(const Problem& problem, const std::vector<std::size_t>& candidates);

// Some candidates that stand for all: those of `also`, and of the others each at most twice the one
// before, where there is one. The first and the last of those that the trunk may have are among
// them.
std::vector<std::size_t> few_of(const Problem& problem, const std::set<std::size_t>& also = {});

}  // namespace nereus::burst
