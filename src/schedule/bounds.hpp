// Between what a play (schedule/clock.hpp) lies, for a few operations a stage; where backward
// passes are whole, and rank r runs the stages r, r + p, ...
//
//   least = max over ranks r of  their passes, and of their first and last micro-batch the way
//                                through the ranks before
//   most  = sum over levels k of  max F at k  +  max B at k
// with messages in F and B. The i-th forward pass of rank r has level r + i, its i-th backward pass
// p - 1 - r + i. On any path of passes that wait for each other levels of either kind rise: from a
// pass to the next of its rank, to the next stage's (which is the i-th on rank r + 1 as well, or,
// where a round of g micro-batches comes to its next chunk on rank 0, the (i + g)-th, g >= p), and
// also where passes of the other kind lie between, for a rank runs its (w + j)-th forward pass
// before its j-th backward one, w falling by at least one and at most two from rank to rank. So a
// path has at most one forward pass of a level. At level q of a round's chunk, ranks 0 .. q have
// come to that chunk and the others are at the one before:
//   max(max_{r <= q} F of this chunk, max_{r > q} F of the one before)
//
// Varuna's messages hold nobody up and its recompute is its rank's alone: `least` is as
// schedule/varuna_clock.hpp says, and nobody knows `most`.
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
  // The start of the first rank's last pass of its last stage, and its passes from then on: no less
  // than these.
  double least_first = 0;
};

// GPipe, 1F1B, interleaved, looped BFS, Varuna. `room` grows to the most that was asked for.
PlayBounds bound_play(plan::Schedule schedule, const PipelineSize& size,
                      const PipelineSeconds& times, std::vector<double>& room);

}  // namespace nereus::schedule
