// Finds changes that would make a plan fit if none does (app/plan/plan_verb.hpp).
//
// Each change is tried separately, with a whole search: free one fixed option at a time; give up
// headroom; allow state and activations in host memory; make the batch divisible; add nodes, as few
// as possible.
#pragma once

#include <string>
#include <vector>

#include "app/plan/plan_verb.hpp"

namespace nereus::app {

// The reason why nothing fits, in one sentence with the numbers.
std::string binding_constraint(const PlanAnswer& answer, double headroom);

std::vector<Lift> find_lifts(const PlanRequest& request, const Inputs& inputs,
                             const search::Choices& choices);

}  // namespace nereus::app
