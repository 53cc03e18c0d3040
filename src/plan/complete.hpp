// Fills in the fields that a user left out, and lists them.
//
//   CompletedDegrees c = complete_degrees({.tp = 8, .pp = 4}, model, cluster);
//   c.degrees.dp;    // devices / (tp pp cp)
//   c.derived;       // {"dp", "cp", "micro_batch", "global_batch", ...}
//
// Rules: the first of dp, pp, tp, cp that is not given gets the devices that the others leave; the
// rest are 1. micro_batch = 1. global_batch = dp micro_batch 4 pp: enough micro-batches to keep the
// pipeline's bubble under a fifth. Precision: the first of bf16, fp16, fp32 that every device
// supports. Schedule: interleaved if interleave > 1, else 1f1b. Interleave: 2 under schedules with
// virtual stages if there are enough layers, else 1. expert_tp: tp if the model has experts and ep
// allows it (as in Megatron-LM), else 1. Context: zig-zag if the mask is causal and 2 cp divides
// the sequence, else ring. Everything else is off.
//
// A model with embedding tables runs a step as one micro-batch: micro_batch = global_batch / dp, or
// 4,096 samples if neither is given; global_batch = dp micro_batch.
//
// All fields of the request are read except `seq`, which belongs to the model.
//
// The result may not be buildable: check_degrees reports whether it is. A quotient that is not
// whole is rounded down, and check_degrees then reports the violated rule with its numbers.
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
  // Names of the fields that were not given, in the order of Degrees.
  std::vector<std::string> derived;
};

CompletedDegrees complete_degrees(const DegreesRequest& request, const model::Model& model,
                                  const cluster::Cluster& cluster);

// The global batch of a search if none is given: a power of two of samples per device, at least
// one, as close as possible to four million tokens; or 32 samples per device for models without
// tokens, 4,096 for models with embedding tables.
int default_global_batch(const model::Model& model, const cluster::Cluster& cluster);

}  // namespace nereus::plan
