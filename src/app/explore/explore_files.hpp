// Files that a study leaves behind: every point as CSV, the best plan.
#pragma once

#include <string>

#include "app/explore/explore.hpp"

namespace nereus::app {

// One line a point and plan kept, in order: axes, status, goals, plan, what it waits for.
void write_study_csv(const std::string& path, const ExploreAnswer& answer);

void write_best_plan(const std::string& path, const ExploreAnswer& answer);

}  // namespace nereus::app
