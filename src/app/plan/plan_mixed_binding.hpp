// The reason why no plan fits on a cluster with several kinds of node, with the numbers. Only for
// use inside app/.
//
//   state = parameters x bytes of weights, gradients and optimizer per parameter
// Each piece of the state must be on some device, so nothing fits if the state exceeds the memory
// of all devices.
//
//   answer.binding = mixed_binding(request, answer);
#pragma once

#include <string>

#include "app/plan/plan_verb.hpp"

namespace nereus::app {

double bytes_of_state(const Inputs& inputs);
double memory_of(const cluster::NodeGroup& group);  // bytes of all its devices
double memory_of(const cluster::Cluster& cluster);
double memory_beyond(const cluster::NodeGroup& group);  // bytes of all its nodes' offload tiers

// One or two sentences.
std::string mixed_binding(const PlanRequest& request, const PlanAnswer& nothing);

}  // namespace nereus::app
