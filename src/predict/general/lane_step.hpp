// The time that one lane needs for a step: its stages in closed form, its transfers, the reduction
// that its last backward pass does not hide, and its host.
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
  double reduced_each = 0;  // exposed seconds of the reduction in each micro-batch but the last
  double closing = 0;       // seconds outside stages, messages and reduction: host, stalls
};

// The stack's parameters for a step with several kinds of machine: the worst value of each
// parameter. They must not depend on which machine is the slowest; otherwise a faster machine could
// make a step slower.
Parameters lane_parameters(const Context& context, std::size_t lane);

// `stages` has the lanes' times on each physical stage.
LaneStep lane_step(Context& context, Work& work, const std::vector<std::vector<LaneTime>>& stages,
                   std::size_t lane, Transfers& transfers, const Reductions& reductions,
                   double memory_share);

}  // namespace nereus::cost::general
