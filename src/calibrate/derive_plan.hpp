// What a row leaves open of its plan, derived as `plan` would: among the plans that agree with what
// the row states, the fastest predicted one that fits in memory.
//
//   tp            powers of two within a node (and 1)      pp   powers of two up to the layers
//   micro_batch   powers of two that divide the batch of a replica; the whole of it with tables
//   global_batch  plan::default_global_batch, in whole micro-batches
//   recompute     the stack's default; where nothing fits with it: selective, then full
//
// If nothing fits at all, the plan that needs the least memory is taken: the run did run.
//
//   Open open{.micro_batch = true};
//   if (!derive_plan(run, open, gpus, library)) ...     // no plan agrees with what is stated
//   run.derived                                   // {"micro_batch"}
#pragma once

#include "calibrate/runs.hpp"

namespace nereus::calibrate {

struct Open {
  bool tp = false;
  bool pp = false;
  bool micro_batch = false;
  bool global_batch = false;
  bool recompute = false;
  int dp = 0;  // as stated; 0: what the others leave
  // What holds where tp > 1, if tp is open.
  bool sequence_parallel = false;
  bool tensor_overlap = false;
  bool expert_tensor = false;
  bool any() const { return tp || pp || micro_batch || global_batch || recompute; }
};

// The degrees of `run` are those stated, and any where they are open; dp follows from the devices.
// Appends the columns it filled in to run.derived. False if no plan agrees with what is stated.
bool derive_plan(Run& run, const Open& open, int gpus, const cost::StackLibrary& library);

}  // namespace nereus::calibrate
