// Converts our networks and algorithms to ASTRA-sim's terms. Only for use inside app/.
//
//   const simulate::AstraDimension d = astra_dimension(dimension, algorithm, errors);
#pragma once

#include "base/error.hpp"
#include "simulate/compat/astra_sim.hpp"
#include "simulate/network/algorithms.hpp"
#include "simulate/network/dimension.hpp"

namespace nereus::app {

// Adds an error for kinds of dimensions that ASTRA-sim does not have. Rails with one switch count
// as a switch.
simulate::AstraDimension astra_dimension(const simulate::Dimension& dimension,
                                         simulate::Algorithm algorithm, ErrorList& errors);

}  // namespace nereus::app
