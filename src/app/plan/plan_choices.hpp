// What planners that lay out ranks by a rule of their own (--spot, --burst) must not be given: of
// the space they read nothing (search/regular/choice_fields.hpp), nor --nodes and --engine.
//
//   refuse_unread(request, kSpotPlanner, errors);   // one error with all that is given in vain
#pragma once

#include <string>
#include <vector>

#include "app/plan/plan_verb.hpp"
#include "base/error.hpp"

namespace nereus::app {

struct OwnLayout {
  const char* mode;     // "spot": of --spot, with the code plan.spot-option
  const char* message;  // where only degrees, schedules, --nodes and --engine are given
  bool reads_goal;      // --headroom and --objective
};
inline constexpr OwnLayout kSpotPlanner{"spot", "--spot searches the whole space on all machines",
                                        false};
inline constexpr OwnLayout kBurstPlanner{
    "burst", "--burst chooses ranks for each layer instead of degrees", true};

// The options of what is given and not read.
std::vector<std::string> unread_options(const PlanRequest& request, const OwnLayout& planner);
Error unread_error(const std::vector<std::string>& options, const OwnLayout& planner);
void refuse_unread(const PlanRequest& request, const OwnLayout& planner, ErrorList& errors);

}  // namespace nereus::app
