// Gradient reduction of one pipeline rank, beside its last backward passes.
//
// The gradients of a virtual stage are final during its last backward pass: from the start of that
// pass on they are reduced, bucket by bucket. A reduction gets the whole wire while its rank waits,
// and the share `overlap` of the time while it computes; virtual stages are reduced one after the
// other. At least 5 % of all of it follows the rank's last pass (the last bucket; as
// cost/data_parallel.hpp). Where the weight gradients come last of all (zero-bubble schedules) or
// the plan overlaps nothing, all of it does.
//
//   std::vector<Reduced> done = reduce(order[r], played.ranks[r], work);
//   done.back().end;
#pragma once

#include <vector>

#include "predict/step_work.hpp"
#include "simulate/pipeline/pipeline_play.hpp"

namespace nereus::simulate {

struct Reduced {
  int stage = 0;  // virtual
  Picoseconds start = 0;
  Picoseconds end = 0;
  Picoseconds wire = 0;  // that it would take alone
  bool operator==(const Reduced&) const = default;
};

// In the order in which they are done; empty where nothing is reduced.
std::vector<Reduced> reduce(const std::vector<PipelineOp>& order, const PlayedRank& played,
                            const cost::StepWork& work);

}  // namespace nereus::simulate
