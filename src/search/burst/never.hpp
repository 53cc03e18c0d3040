// The time of what cannot be done: infinite.
#pragma once

#include <limits>

namespace nereus::burst {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace nereus::burst
