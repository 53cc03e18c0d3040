// Why no plan fits on a cluster of several kinds of node, with the numbers. Inside app/ only.
//
//   state = parameters x bytes of weights, gradients and optimizer of one
// Each piece of it lies on some device, so nothing fits where it is more than all of them have.
//
//   answer.binding = mixed_binding(request, answer);
#pragma once

#include <string>

#include "app/plan/plan_verb.hpp"

namespace nereus::app {

double bytes_of_state(const Inputs& inputs);
double memory_of(const cluster::NodeGroup& group);  // bytes of all its devices
double memory_of(const cluster::Cluster& cluster);
double memory_beyond(const cluster::NodeGroup& group);  // bytes of all its nodes' tiers

// In one sentence or two.
std::string mixed_binding(const PlanRequest& request, const PlanAnswer& nothing);

}  // namespace nereus::app
