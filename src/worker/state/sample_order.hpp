// An order of passes for stages that do not meet micro-batch by micro-batch: other widths from
// stage to stage, or micro-batches of other sizes. No libtorch here.
//
//   forward(s, m)   waits for all forward(s - 1, k) whose micro-batches share a sample with m
//   backward(s, m)  waits for forward(s, m) and all backward(s + 1, k) that share one
//
// Every rank plays the whole pipeline by the rules of 1F1B (schedule/greedy.hpp has them for whole
// micro-batches), with samples x layers as time, backward twice that: a backward pass as soon as
// one can run, else the forward pass of the latest stage that holds fewer samples than the largest
// micro-batch times the stages from it to the last. Where nobody can go on under that limit, the
// forward pass of the earliest samples runs beyond it. So whatever the sizes, everyone has the same
// play in mind and nobody waits for ever. GPipe has no limit.
//
//   if (!meets_whole(placement)) order = sample_order(placement, rank);
#pragma once

#include <vector>

#include "plan/placement.hpp"
#include "schedule/order.hpp"

namespace nereus::worker {

// Whether every micro-batch of a stage is one of the next stage too.
bool meets_whole(const plan::Placement& placement);

// The passes of the team that `rank` is in; the stages are indices of runs.
std::vector<schedule::PipelineOp> sample_order(const plan::Placement& placement, int rank);

}  // namespace nereus::worker
