// What a prediction is of, in the terms by which the errors of predictions are known
// (stack/error_table.hpp): family of model, software, family of device, width of numbers, and
// whether it runs on one node or on several.
//
//   Conditions c = conditions_of(model, cluster.groups.front(), degrees, stack);
//   c.family;      // "decoder"
//   c.software;    // {"nemo", "megatron"}: the stack without its releases, then what it builds on
//   c.devices;     // {"H200", "H100"}: the device's family, then the relatives that stand in for it
#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"
#include "stack/stack.hpp"

namespace nereus::cost {

struct Conditions {
  std::string family;
  std::string stack;                  // "nemo-24"
  std::vector<std::string> software;  // nearest first; empty: not software that anybody runs
  std::vector<std::string> devices;   // nearest first
  std::string precision;              // "16-bit"
  std::string size;                   // "one node" or "several nodes"
  std::string fill;                   // of device memory: "under half", "half", "nearly full"
  int num_devices = 0;
  std::vector<std::string> features;  // "ZeRO-2", "schedule dualpipe", "offload", ...
};

// "decoder", "experts", "state space" (hybrids), "encoder", "vision transformer", "CNN",
// "recommender"; "graph" for a model that is none of these.
std::string family_of(const model::Model& model);
// "32-bit", "16-bit", "8-bit" or "4-bit"; fp64 and tf32 count as 32-bit.
std::string width_of(cluster::Precision precision);

// `filled` is the predicted memory's share of the device's.
Conditions conditions_of(const model::Model& model, const cluster::NodeGroup& nodes,
                         int num_devices, const plan::Degrees& degrees, const Stack& stack,
                         double filled);

}  // namespace nereus::cost
