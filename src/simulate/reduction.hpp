// Gradient reduction of one pipeline rank, overlapped with its last backward passes.
//
// The gradients of a virtual stage become final during its last backward pass. From the start of
// that pass on, they are reduced bucket by bucket. A reduction gets the whole wire while its rank
// waits, and the share `overlap` of the time while the rank computes. Virtual stages are reduced
// one after the other. At least 5 % of the total runs after the rank's last pass (the last bucket,
// as in cost/data_parallel.hpp). If weight gradients come last (zero-bubble schedules), or the plan
// has no data overlap, the whole reduction does.
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
  Picoseconds wire = 0;  // time on the wire without compute
  bool operator==(const Reduced&) const = default;
};

// In the order in which they end; empty if nothing is reduced.
std::vector<Reduced> reduce(const std::vector<PipelineOp>& order, const PlayedRank& played,
                            const cost::StepWork& work);

}  // namespace nereus::simulate
