// Which samples BatchNorm normalizes over on one rank, and how the running statistics are updated
// after a step. The groups depend only on the job (job/norm_check.hpp has the rules), not on which
// rank computes them.
//
//   pass.norm = norm_groups(training, placement, work, number, together);
//   StatisticsSum sum(layers_with_norms, data);      // starts one all-reduce for a stage's layers
//   sum.finish(num_norm_groups(training, placement, work));
#pragma once

#include "job/job.hpp"
#include "worker/ops/layer.hpp"
#include "worker/state/rank_plan.hpp"

namespace nereus::worker {

// Number of groups per step in the layers of a stage.
std::int64_t num_norm_groups(const job::Training& training, const plan::Placement& placement,
                             const StageWork& work);

// `number` is the micro-batch's number in the order of passes; `together` are the data-parallel
// ranks of the stage, for sync.
NormGroups norm_groups(const job::Training& training, const plan::Placement& placement,
                       const StageWork& work, int number, Group* together);

// Sums the terms of all ranks, and adds them to the running statistics (ops/batch_norm.hpp).
class StatisticsSum {
 public:
  // `data`: the ranks that compute these layers; nullptr = only this rank.
  StatisticsSum(std::vector<NormStatistics*> layers, Group* data);
  void wait();
  void apply(std::int64_t num_groups);  // call once at the end; nothing changes before

 private:
  std::vector<NormStatistics*> layers_;
  at::Tensor flat_;
  Handle summing_;
};

}  // namespace nereus::worker
