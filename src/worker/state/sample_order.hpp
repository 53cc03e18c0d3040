// An order of passes for stages whose micro-batches do not match: data-parallel widths or
// micro-batch sizes differ between stages. Does not use libtorch.
//
//   forward(s, m)   waits for all forward(s - 1, k) whose micro-batches share a sample with m
//   backward(s, m)  waits for forward(s, m), and all backward(s + 1, k) that share a sample
//
// Every rank simulates the whole pipeline with the rules of 1F1B (schedule/greedy.hpp has them for
// whole micro-batches). The time of a pass is samples x layers, twice that for backward. A rank
// runs a backward pass as soon as one can run. Otherwise it runs the forward pass of the latest
// stage that holds fewer samples than the largest micro-batch times the number of stages from that
// stage to the last. If no rank can continue under this limit, the forward pass of the earliest
// samples runs despite the limit. So for any sizes, all ranks get the same order and none
// deadlocks. GPipe has no limit.
//
//   if (!meets_whole(placement)) order = sample_order(placement, rank);
#pragma once

#include <vector>

#include "plan/placement.hpp"
#include "schedule/order.hpp"

namespace nereus::worker {

// Whether every micro-batch of a stage is also a micro-batch of the next stage.
bool meets_whole(const plan::Placement& placement);

// The passes of the team of `rank`; stages are indices of runs.
std::vector<schedule::PipelineOp> sample_order(const plan::Placement& placement, int rank);

}  // namespace nereus::worker
