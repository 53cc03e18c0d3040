// Decides which machine gets which place of a new plan when machines leave or join. Machines that
// hold a stage of a pipeline of the same depth keep that stage, so that their state need not move.
// The others fill the remaining places, in the order given. The coordinator of an elastic job and
// its simulation use the same rule.
//
//   std::vector<int> who = places_that_keep_stages(machines, stages_of_places(placement));
//   machines[who[i]] takes place i;      // there are at least as many machines as places
#pragma once

#include <vector>

#include "plan/placement.hpp"

namespace nereus::plan {

// The stage that a machine holds, and the depth of its pipeline. Stage -1 with 0 stages: none, or
// unknown.
struct HeldStage {
  int stage = -1;
  int stages = 0;
  bool operator==(const HeldStage&) const = default;
};

// The stage that each place of the plan holds.
std::vector<HeldStage> stages_of_places(const Placement& placement);
// Spreads `stages` stages evenly over the places, stage by stage. Places that are left over hold
// the last stage. `stages` = 0: unknown.
std::vector<HeldStage> even_stages(int num_places, int stages);

// The smallest number of ranks that hold a copy of any part of the state. If it is 1, losing a rank
// may lose state.
int fewest_copies(const Placement& placement);

std::vector<int> places_that_keep_stages(const std::vector<HeldStage>& machines,
                                         const std::vector<HeldStage>& places);

}  // namespace nereus::plan
