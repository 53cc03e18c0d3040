// The independent checker of placements: every planner's answer and every plan file passes it
// before anything is predicted, run or exported. It shares no code with plan/expand.hpp.
//
//   for (const Error& e : check(placement, model, cluster)) ...   // empty: the plan is sound
//
// What holds for a sound plan:
//   layers    every layer is in exactly one run, runs in order; stages are 0, 1, 2, ... along them
//   ranks     all exist in the cluster and have the precision; none is twice in a run; none is in
//             more stages than the schedule runs on one rank (gpipe, 1f1b, varuna, zb-h1, zb-h2: 1;
//             zb-v, dualpipe: 2)
//   samples   in every run each sample of the global batch is computed exactly once; from run to
//             run micro-batches keep their order: what arrives earlier is not needed later than
//             what arrives after it
//   splits    tp divides heads and feed-forward, cp the sequence, ep the experts or the columns of
//             embedding tables; whole tables each have a slice; a model with tables has one stage
//   state     weights, gradients and optimizer of every slice are held completely, and no rank
//             holds the same part twice (a peer copy beside its original protects nothing);
//             weights are cut as every team of the run computes; tied layers are cut alike
//   memory    a tier exists on every node that is to use it
// Whether it fits into memory is cost/'s question, not this one's.
//
// Time grows with the numbers written in the plan and, for ranks, linearly with runs x ranks:
// 126 runs on 16,384 ranks take a few milliseconds. Plans beyond kMostRanks or kMostSamples, or
// whose check would take more than seconds, are refused (plan.too-large).
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
