// Lower and upper bounds of the time of a simulated pipeline (schedule/clock.hpp), computed with a
// few operations per stage. Backward passes must not be split, and rank r must run the stages r, r
// + p, ...
//
//   least = max over ranks r of  time of all its passes, plus the paths of the first micro-batch
//                                and of the last gradient through the ranks before r
//   most  = sum over levels k of  longest F at level k  +  longest B at level k
// where F and B are the times of forward and backward passes, including their messages. The i-th
// forward pass of rank r has level r + i, its i-th backward pass has level p - 1 - r + i. On any
// path of passes in which each waits for the one before, the levels of forward passes rise, and so
// do those of backward passes. They rise from a pass to the next one on its rank, and to the next
// stage's pass (which is also the i-th on rank r + 1 or, if a round of g micro-batches starts its
// next chunk on rank 0, the (i + g)-th, g >= p). They also rise if passes of the other kind are in
// between, because a rank runs its (w + j)-th forward pass before its j-th backward pass, and w
// falls by one or two from rank to rank. So a path has at most one forward pass and one backward
// pass per level. At level q of a round's chunk, ranks 0 .. q have reached that chunk and the
// others are at the chunk before, so the longest F is
//   max(max_{r <= q} F of this chunk, max_{r > q} F of the chunk before)
//
// Varuna's messages block no rank, and its recompute only delays its rank: `least` is the bound of
// schedule/varuna_clock.hpp, and `most` is unknown (1e300).
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
  // A lower bound of the time at which the first rank starts the last backward pass of its last
  // stage, plus the seconds of the passes that it runs from then on.
  double least_first = 0;
};

// Supports GPipe, 1F1B, interleaved, looped BFS and Varuna. `room` grows to the largest size
// needed.
PlayBounds bound_play(plan::Schedule schedule, const PipelineSize& size,
                      const PipelineSeconds& times, std::vector<double>& room);

}  // namespace nereus::schedule
