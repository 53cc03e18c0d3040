// The part of a step that one lane decides: its stages in closed form, its transfers, what its last
// backward pass does not hide of the reduction, its host.
//
//   LaneStep own = lane_step(context, work, stages, lane, transfers, reductions, share);
#pragma once

#include <vector>

#include "predict/general/reduce.hpp"
#include "predict/general/team_work.hpp"
#include "predict/general/transfers.hpp"
#include "predict/prediction.hpp"

namespace nereus::cost::general {

struct LaneStep {
  Prediction prediction;
  double closing = 0;  // seconds of it beside stages, messages and reduction: host, stalls
};

// What the stack says of a step that several kinds of machine make together: in each respect the
// worst. It must not depend on which of them is the slowest, or a quicker machine could slow a
// step.
Parameters lane_parameters(const Context& context, std::size_t lane);

// `stages` are the lanes' times on each physical stage.
LaneStep lane_step(Context& context, Work& work, const std::vector<std::vector<LaneTime>>& stages,
                   std::size_t lane, Transfers& transfers, const Reductions& reductions,
                   double memory_share);

}  // namespace nereus::cost::general
