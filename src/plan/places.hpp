// Who takes which place of a new plan when machines come and go. Machines that hold a stage of a
// pipeline of the same depth keep that stage, so that their state need not move; the others fill
// the places that are left, in the order given. One rule for the coordinator of an elastic job and
// for the simulation of one.
//
//   std::vector<int> who = places_that_keep_stages(machines, stages_of_places(placement));
//   machines[who[i]] takes place i;      // there are as many machines as places, or more
#pragma once

#include <vector>

#include "plan/placement.hpp"

namespace nereus::plan {

// What a machine holds: a stage of a pipeline of so many. -1 of 0: nothing, or nobody knows.
struct HeldStage {
  int stage = -1;
  int stages = 0;
  bool operator==(const HeldStage&) const = default;
};

// By place.
std::vector<HeldStage> stages_of_places(const Placement& placement);
// `stages` stages of as many places each as there are, stage by stage; places that are left over
// hold the last one. No stages: nobody knows.
std::vector<HeldStage> even_stages(int num_places, int stages);

// Of the state of which fewest ranks hold a copy: 1 where a rank that goes takes some along.
int fewest_copies(const Placement& placement);

std::vector<int> places_that_keep_stages(const std::vector<HeldStage>& machines,
                                         const std::vector<HeldStage>& places);

}  // namespace nereus::plan
