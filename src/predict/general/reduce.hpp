// Reduction of gradients.
//
// Runs of a physical stage with equally sharded state are reduced together, one group of ranks
// after the other. State that is gathered and scattered in every micro-batch is not reduced again.
// Sharded gradients of whole weights are also reduced in each micro-batch before the last.
// If the two ends of a tied weight are on different stages, pairs of ranks all-reduce their
// gradients.
//
//   const Reductions reductions = reductions_of(context);
//   reductions.seconds[0] * reductions.share[0];             // seconds of the first virtual stage
#pragma once

#include "predict/general/context.hpp"

namespace nereus::cost::general {

struct Reductions {
  std::vector<double> seconds;  // by physical stage
  double each = 0;              // seconds in every micro-batch but the last (ZeRO-2)
  std::vector<double> share;    // by virtual stage: its share of these seconds, by parameters
  double longest() const;
};
Reductions reductions_of(Context& context);
double tied_seconds(Context& context);

}  // namespace nereus::cost::general
