// A spot plan (search/elastic/spot.hpp) as a placement: every sample of the batch once, some
// replicas with one micro-batch less, the last with what is left of the last.
//
//   plan::Placement p = uneven_placement(plan, problem);
//   plan::check(p, model, cluster).empty();
//
// Replicas take runs of samples that follow one another: the fullest first, then those that are
// short, the last of which may end with a smaller micro-batch.
#pragma once

#include "plan/placement.hpp"
#include "search/elastic/spot.hpp"

namespace nereus::elastic {

plan::Placement uneven_placement(const SpotPlan& plan, const SpotProblem& problem);

}  // namespace nereus::elastic
