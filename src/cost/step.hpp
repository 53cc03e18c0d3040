// The parts of a step: one micro-batch on one stage, transfers between stages, reduction over
// replicas.
#pragma once

#include "cost/tables.hpp"

namespace nereus::cost {

// Seconds of one micro-batch, forward and backward, on one stage. `total` is their sum.
struct StageTime {
  double compute = 0;
  double recompute = 0;
  double tensor = 0;
  double context = 0;
  double expert = 0;
  double shard = 0;   // exposed gathering of sharded weights and scattering of gradients
  double launch = 0;  // what the host needs beyond the device
  double total = 0;
};
StageTime stage_time(const Tables& tables, const SplitCosts& split, const StageClass& stage,
                     const plan::Degrees& d);

double transfer_seconds(const Tables& tables, const SplitCosts& split, const plan::Degrees& d,
                        int num_micro_batches, double memory_share);

struct DataTime {
  double reduce = 0;
  double optimizer = 0;
};
// `quickest_stage` is the least time of one micro-batch on any stage.
DataTime data_time(const Tables& tables, const SplitCosts& split, const StageTable& stages,
                   const plan::Degrees& d, double quickest_stage);

}  // namespace nereus::cost
