// Finds changes that would make a plan fit on a cluster with several kinds of node if none does
// (app/plan/plan_verb.hpp).
//
// Each change is tried separately, with a short search (app/plan/plan_mixed_trial.hpp): free one
// fixed option at a time; give up headroom; lower the precision; reduce the batch, as little as
// possible; add nodes of one kind, as few as possible; use only one kind and offload state and
// activations, which is not searched on several kinds; if none of these helps, shorten the samples.
//
// Sizes are found by bisection with the leanest plan (app/plan/plan_mixed_leanest.hpp): a plan that
// fits still fits with one more node, or with half of the batch.
//
//   if (answer.plans.empty()) answer.lifts = find_mixed_lifts(request, answer);
#pragma once

#include <vector>

#include "app/plan/plan_verb.hpp"

namespace nereus::app {

// `request` must be unchanged; `nothing` is its answer.
std::vector<Lift> find_mixed_lifts(const PlanRequest& request, const PlanAnswer& nothing);

}  // namespace nereus::app
