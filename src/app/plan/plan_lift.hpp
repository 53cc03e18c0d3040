// What would make a plan fit where none does (app/plan/plan_verb.hpp).
//
// Each change alone is tried by a whole search: what the user fixed is freed, one thing at a time;
// headroom is given up; state and activations may go to host memory; the batch is made divisible;
// nodes are added, as few as will do.
#pragma once

#include <string>
#include <vector>

#include "app/plan/plan_verb.hpp"

namespace nereus::app {

// Why nothing fits, in one sentence with the numbers.
std::string binding_constraint(const PlanAnswer& answer, double headroom);

std::vector<Lift> find_lifts(const PlanRequest& request, const Inputs& inputs,
                             const search::Choices& choices);

}  // namespace nereus::app
