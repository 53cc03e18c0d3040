// Converts a spot plan (search/elastic/spot.hpp) to a placement: every sample of the batch is
// computed once, some replicas have one micro-batch less, and the last micro-batch has the
// remainder.
//
//   plan::Placement p = uneven_placement(plan, problem);
//   plan::check(p, model, cluster).empty();
//
// Replicas have consecutive ranges of samples: first the fullest replicas, then the short ones, the
// last of which may end with a smaller micro-batch.
#pragma once

#include "plan/placement.hpp"
#include "search/elastic/spot.hpp"

namespace nereus::elastic {

plan::Placement uneven_placement(const SpotPlan& plan, const SpotProblem& problem);

}  // namespace nereus::elastic
