// Fills in what a user did not say, and says which.
//
//   CompletedDegrees c = complete_degrees({.tp = 8, .pp = 4}, model, cluster);
//   c.degrees.dp;    // devices / (tp pp cp)
//   c.derived;       // {"dp", "cp", "micro_batch", "global_batch", ...}
//
// Rules: of dp, pp, tp, cp the first that is not given takes what the others leave of the devices,
// the rest are 1. micro_batch = 1. global_batch = dp micro_batch 4 pp: enough micro-batches that
// the pipeline's bubble stays under a fifth. Precision: the first of bf16, fp16, fp32 that every
// device has. Schedule: interleaved where interleave > 1, else 1f1b; interleave: 2 under schedules
// of virtual stages, where the layers fill them, else 1. expert_tp: tp where the model has experts
// and ep allows it (as Megatron-LM does), else 1. Context: zig-zag where the mask is causal and 2
// cp divides the sequence, else ring. Everything else is off.
//
// A model with embedding tables runs a step as one micro-batch: micro_batch = global_batch / dp, or
// 4,096 records where neither is given; global_batch = dp micro_batch.
//
// Of a request all is read but `seq`, which is the model's.
//
// Whether the result can be built is for check_degrees to say: a quotient that is not whole is
// rounded down, and the rule that it breaks is reported with the numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"

namespace nereus::plan {

struct CompletedDegrees {
  Degrees degrees;
  std::vector<std::string> derived;  // names of fields that were not given, in Degrees' order
};

CompletedDegrees complete_degrees(const DegreesRequest& request, const model::Model& model,
                                  const cluster::Cluster& cluster);

// The batch that a search plans for where nobody says one: a power of two samples a device, at
// least one, as near as that comes to four million tokens, or 32 for models without tokens, 4,096
// for those with embedding tables.
int default_global_batch(const model::Model& model, const cluster::Cluster& cluster);

}  // namespace nereus::plan
