// Converts a burst plan to a placement (plan/placement.hpp): each layer on its ranks, with whole
// samples, one micro-batch, and a copy of the state on each rank that computes the layer.
//
// Chunk i of l samples is on rank first + floor(i l / l*), where l* is the least l of the trunk or
// of the branch's layers, so that samples stay where they are (search/burst/problem.hpp).
//
//   plan::Placement p = placement_of(plan, counts, 32, precision);
#pragma once

#include <vector>

#include "plan/placement.hpp"
#include "search/burst/burst_front.hpp"

namespace nereus::burst {

// The plan's blocks must be the layers of the model, in order.
plan::Placement placement_of(const BurstPlan& plan, const std::vector<int>& counts,
                             int global_batch, cluster::Precision precision);

}  // namespace nereus::burst
