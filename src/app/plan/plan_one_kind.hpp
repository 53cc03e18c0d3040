// For a cluster with several kinds of node: the best regular plan (search/regular) on each kind
// with the other nodes idle. Such plans can use what a mixed search does not try (context
// parallelism, interleaved stages, ...), and no mixed plan should be slower than one of them. Only
// for use inside app/.
//
//   options.known = plans_of_one_kind(request, inputs, choices);
//
// Sizes: every number of nodes up to eight, then 12, 16, 24, ... and all, so that adding a node
// never gives a slower result. Sizes that cannot beat the best so far are not predicted.
#pragma once

#include "app/plan/plan_verb.hpp"
#include "search/mixed/mixed_search.hpp"

namespace nereus::app {

inline constexpr const char* kOneKind = "one kind only";

// Ranks are numbered as in mixed::canonical(inputs.cluster).
std::vector<mixed::KnownPlan> plans_of_one_kind(const PlanRequest& request, const Inputs& inputs,
                                                const search::Choices& choices);

}  // namespace nereus::app
