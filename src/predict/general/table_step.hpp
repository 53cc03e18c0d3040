// The time and bytes that the embedding tables of a placement add to a step.
#pragma once

#include "predict/general/context.hpp"

namespace nereus::cost::general {

// The time and bytes that the embedding tables of a run add to a step, on the slowest kind of
// machine; zero if it has none.
TableStep table_step_of(Context& context, int run);

}  // namespace nereus::cost::general
