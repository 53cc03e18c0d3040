// Reduction of gradients once a step.
//
// Runs of a physical stage whose state is divided alike are reduced together, one group of ranks
// after the other. What is gathered and scattered in every micro-batch is not reduced again. Both
// ends of a tied weight that lie on different stages sum their gradients in pairs.
//
//   double reduce = stage_reduce_seconds(context, context.layout.stages[0]);
#pragma once

#include "cost/general/context.hpp"

namespace nereus::cost::general {

double stage_reduce_seconds(Context& context, const PhysicalStage& stage);
double tied_seconds(Context& context);

}  // namespace nereus::cost::general
