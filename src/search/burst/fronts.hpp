// Small functions on fronts and the memory of their plans. Only for use inside search/burst.
#pragma once

#include "search/burst/burst_front.hpp"

namespace nereus::burst {

// The plans of each front that the other front does not dominate.
Front merged(Front a, Front b);

// Memory of the plan's fullest rank: on the trunk, or on a branch that left the trunk.
double memory_of(const Problem& problem, const BurstPlan& plan);
// The least memory that any plan needs.
double least_memory(const Problem& problem);
// Whether some plans do not fit.
bool memory_binds(const Problem& problem);
// The first candidate such that every plan with it or a larger one fits.
int first_that_fits(const Problem& problem);

// The largest ratio of rank-seconds between the best of `plans` within a time and the best possible
// plan within that time. Every possible plan must be dominated by one of `bound` or of `plans`.
double gap_of(const std::vector<BurstPlan>& plans, const std::vector<BurstPlan>& bound);

}  // namespace nereus::burst
