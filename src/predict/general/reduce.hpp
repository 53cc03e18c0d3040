// Reduction of gradients once a step.
//
// Runs of a physical stage whose state is divided alike are reduced together, one group of ranks
// after the other. What is gathered and scattered in every micro-batch is not reduced again. Both
// ends of a tied weight that lie on different stages sum their gradients in pairs.
//
//   const Reductions reductions = reductions_of(context);
//   reductions.seconds[0] * reductions.share[0];             // of the first virtual stage
#pragma once

#include "predict/general/context.hpp"

namespace nereus::cost::general {

struct Reductions {
  std::vector<double> seconds;  // by physical stage
  std::vector<double> share;    // by virtual stage: its part of that, by parameters
  double longest() const;
};
Reductions reductions_of(Context& context);
double tied_seconds(Context& context);

}  // namespace nereus::cost::general
