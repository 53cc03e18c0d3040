// How much memory plans leave free, so that they fit as surely as one asks for
// (stack/error_table.hpp).
//
//   search::SearchOptions options;
//   options.headroom = headroom_for(inputs, kFitsByDefault);
#pragma once

#include "app/predict/predict_plan.hpp"

namespace nereus::app {

inline constexpr double kFitsByDefault = 0.95;  // probability of fitting into memory

// The share of device memory to leave free, so that a plan fits with this probability; 0 if nothing
// is known. It is the same for all plans of these inputs, so a search with it stays exact.
double headroom_for(const Inputs& inputs, double probability);

}  // namespace nereus::app
