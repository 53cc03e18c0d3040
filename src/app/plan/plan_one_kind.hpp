// Of a cluster of several kinds of node: the best regular plan (search/regular) of each kind alone,
// the others idle. Such plans have what a mixed search does not look for (context parallelism,
// interleaved stages, ...), and no mixed plan should be slower than one of them. Inside app/ only.
//
//   options.known = plans_of_one_kind(request, inputs, choices);
//
// Sizes: every number of nodes up to eight, then 12, 16, 24, ... and all, so that a node more is no
// slower than what was tried before; what cannot be better than the best so far is not predicted.
#pragma once

#include "app/plan/plan_verb.hpp"
#include "search/mixed/mixed_search.hpp"

namespace nereus::app {

inline constexpr const char* kOneKind = "one kind only";

// In the numbering of mixed::canonical(inputs.cluster).
std::vector<mixed::KnownPlan> plans_of_one_kind(const PlanRequest& request, const Inputs& inputs,
                                                const search::Choices& choices);

}  // namespace nereus::app
