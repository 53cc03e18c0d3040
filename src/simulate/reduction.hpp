// Gradient reduction of one pipeline rank, overlapped with its last backward passes.
//
// The gradients of a virtual stage become final during its last backward pass. From the start of
// that pass on, they are reduced bucket by bucket. While its rank waits, a reduction uses the whole
// wire; while the rank computes, it advances at the share StepWork::reduce_overlap of that speed.
// Virtual stages are reduced one after the other. At least 5 % of the total runs after the rank's
// last pass (the last bucket, as in cost/data_parallel.hpp). The whole reduction runs after the
// rank's last pass if weight gradients come last (zero-bubble schedules), or if the plan has no
// data overlap.
//
//   std::vector<Reduced> done = reduce(order[r], played.ranks[r], work);
//   done.back().end;
#pragma once

#include <vector>

#include "predict/step_work.hpp"
#include "simulate/pipeline/pipeline_play.hpp"

namespace nereus::simulate {

struct Reduced {
  int stage = 0;  // virtual stage
  Picoseconds start = 0;
  Picoseconds end = 0;
  Picoseconds wire = 0;  // duration if its rank did not compute meanwhile
  bool operator==(const Reduced&) const = default;
};

// In the order in which they end; empty if nothing is reduced.
std::vector<Reduced> reduce(const std::vector<PipelineOp>& order, const PlayedRank& played,
                            const cost::StepWork& work);

}  // namespace nereus::simulate
