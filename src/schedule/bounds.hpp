// Bounds of a simulated pipeline (schedule/clock.hpp) for a few operations per stage. Backward
// passes must be whole, and rank r must run the stages r, r + p, ...
//
//   least = max over ranks r of  their passes, plus the path of their first and last micro-batch
//                                through the ranks before
//   most  = sum over levels k of  max F at k  +  max B at k
// with messages included in F and B. The i-th forward pass of rank r has level r + i, its i-th
// backward pass has level p - 1 - r + i. On any path of passes that wait for each other, the levels
// of either kind rise. They rise from a pass to the next one on its rank, and to the next stage's
// pass (which is also the i-th on rank r + 1 or, if a round of g micro-batches starts its next
// chunk on rank 0, the (i + g)-th, g >= p). They also rise if passes of the other kind are in
// between, because a rank runs its (w + j)-th forward pass before its j-th backward pass, and w
// falls by one or two from rank to rank. So a path has at most one forward pass per level. At level
// q of a round's chunk, ranks 0 .. q have reached that chunk and the others are at the one before:
//   max(max_{r <= q} F of this chunk, max_{r > q} F of the one before)
//
// Varuna's messages block no rank, and its recompute only delays its rank: `least` is as in
// schedule/varuna_clock.hpp, and `most` is unknown.
//
//   const PlayBounds bounds = bound_play(Schedule::kInterleaved, {8, 2, 64}, {stages, 0.0}, room);
//   bounds.least <= close.longest() && close.longest() <= bounds.most;
#pragma once

#include <vector>

#include "schedule/clock.hpp"

namespace nereus::schedule {

struct PlayBounds {
  double least = 0;  // seconds
  double most = 0;
  // A lower bound for the start of the first rank's last pass of its last stage, plus its passes
  // from then on.
  double least_first = 0;
};

// Supports GPipe, 1F1B, interleaved, looped BFS and Varuna. `room` grows to the largest size
// needed.
PlayBounds bound_play(plan::Schedule schedule, const PipelineSize& size,
                      const PipelineSeconds& times, std::vector<double>& room);

}  // namespace nereus::schedule
