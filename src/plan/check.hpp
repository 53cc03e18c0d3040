// The independent checker of placements. Every planner's answer and every plan file must pass it
// before anything is predicted, run or exported. It shares no code with plan/expand.hpp.
//
//   for (const Error& e : check(placement, model, cluster)) ...   // empty: the plan is valid
//
// A valid plan has these properties:
//   layers    every layer is in exactly one run, and runs are in order; their stages are 0, 1, 2,
//             ...
//   ranks     all exist in the cluster and support the precision; no rank is twice in a run; no
//             rank is in more stages than the schedule runs on one rank (gpipe, 1f1b, varuna,
//             zb-h1, zb-h2: 1; zb-v, dualpipe: 2)
//   samples   every run computes each sample of the global batch exactly once; samples keep their
//             order from run to run: if a sample is in an earlier micro-batch than another, it is
//             not in a later one in the next run
//   splits    tp divides heads and feed-forward, cp the sequence, ep the experts or the columns of
//             embedding tables; each whole table has a slice; a model with tables has one stage
//   state     weights, gradients and optimizer of every slice are held completely, and no rank
//             holds the same part twice (a peer copy next to its original protects nothing);
//             weights are held in tp slices for the tp of every team; tied layers are cut alike
//   memory    a tier that a node uses must exist on that node
// The checker does not check whether the plan fits into memory: predict/ does.
//
// The time grows with the size of the written plan, and linearly with runs x ranks: 126 runs on
// 16,384 ranks take a few milliseconds. Plans beyond kMostRanks or kMostSamples, or whose check
// would take more than seconds, are rejected (plan.too-large).
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "plan/placement.hpp"

namespace nereus::plan {

inline constexpr std::int64_t kMostRanks = 1 << 20;
inline constexpr std::int64_t kMostSamples = 1 << 24;

// All violations, at most a few dozen (the last one then says how many more there are).
std::vector<Error> check(const Placement& placement, const model::Model& model,
                         const cluster::Cluster& cluster);

}  // namespace nereus::plan
