// What would make a plan fit on a cluster of several kinds of node where none does
// (app/plan/plan_verb.hpp).
//
// Each change alone is tried by a short search (app/plan/plan_mixed_trial.hpp): what was fixed is
// freed, one thing at a time; headroom is given up; the precision is lower; the batch is smaller,
// as large as will do; nodes of one kind are added, as few as will do; one kind alone puts state
// and activations beyond its devices, which is not searched on several kinds; where nothing of that
// helps, samples are shorter.
//
// Sizes are found by bisection over the leanest plan (app/plan/plan_mixed_leanest.hpp): what fits
// still fits with a node more or with half of the batch.
//
//   if (answer.plans.empty()) answer.lifts = find_mixed_lifts(request, answer);
#pragma once

#include <vector>

#include "app/plan/plan_verb.hpp"

namespace nereus::app {

// `request` as it was given; `nothing` is its answer.
std::vector<Lift> find_mixed_lifts(const PlanRequest& request, const PlanAnswer& nothing);

}  // namespace nereus::app
