// Rejects options that planners with a fixed layout of ranks (--spot, --burst) do not use: those of
// the search space (search/regular/choice_fields.hpp), and --nodes and --engine.
//
//   refuse_unread(request, kSpotPlanner, errors);   // one error with all unused options
#pragma once

#include <string>
#include <vector>

#include "app/plan/plan_verb.hpp"
#include "base/error.hpp"

namespace nereus::app {

struct OwnLayout {
  const char* mode;     // "spot": for --spot, with the code plan.spot-option
  const char* message;  // if only degrees, schedules, --nodes and --engine are given
  bool reads_goal;      // uses --headroom and --objective
};
inline constexpr OwnLayout kSpotPlanner{"spot", "--spot searches the whole space on all machines",
                                        false};
inline constexpr OwnLayout kBurstPlanner{
    "burst", "--burst chooses ranks for each layer instead of degrees", true};

// The options that are given but not used.
std::vector<std::string> unread_options(const PlanRequest& request, const OwnLayout& planner);
Error unread_error(const std::vector<std::string>& options, const OwnLayout& planner);
void refuse_unread(const PlanRequest& request, const OwnLayout& planner, ErrorList& errors);

}  // namespace nereus::app
