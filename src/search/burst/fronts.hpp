// Fronts and the memory of their plans: small functions of the burst search. Inside search/burst
// only.
#pragma once

#include "search/burst/burst_front.hpp"

namespace nereus::burst {

// The better of both, plan by plan.
Front merged(Front a, Front b);

// On the trunk's fullest rank; where branches have ranks of their own, on theirs if that is more.
double memory_of(const Problem& problem, const BurstPlan& plan);
// Of any plan.
double least_memory(const Problem& problem);
// Whether there are plans that do not fit.
bool memory_binds(const Problem& problem);
// The first candidate from which on every plan fits.
int first_that_fits(const Problem& problem);

// How much dearer, at most, the best of `plans` within a time is than the best that any plan can
// be: `bound` has one before every plan there is, or `plans` has.
double gap_of(const std::vector<BurstPlan>& plans, const std::vector<BurstPlan>& bound);

}  // namespace nereus::burst
