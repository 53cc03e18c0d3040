// Files that a study writes: every point as CSV, and the best plan.
#pragma once

#include <string>

#include "app/explore/explore.hpp"

namespace nereus::app {

// One line per point and kept plan, in order: axes, status, goals, plan, and what the step waits
// for.
void write_study_csv(const std::string& path, const ExploreAnswer& answer);

void write_best_plan(const std::string& path, const ExploreAnswer& answer);

}  // namespace nereus::app
