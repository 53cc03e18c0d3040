// Which samples BatchNorm normalises over on one rank, and what is left of a step in the running
// statistics. The groups follow from the job alone (job/norm_check.hpp has the rules); which rank
// computes them does not matter.
//
//   pass.norm = norm_groups(training, placement, work, number, together);
//   StatisticsSum sum(layers_with_norms, data);      // starts one sum for all layers of a stage
//   sum.finish(num_norm_groups(training, placement, work));
#pragma once

#include "job/job.hpp"
#include "worker/ops/layer.hpp"
#include "worker/state/rank_plan.hpp"

namespace nereus::worker {

// Groups of one step in the layers of a stage.
std::int64_t num_norm_groups(const job::Training& training, const plan::Placement& placement,
                             const StageWork& work);

// `number` of the micro-batch in the order; `together` the data ranks of the stage, for sync.
NormGroups norm_groups(const job::Training& training, const plan::Placement& placement,
                       const StageWork& work, int number, Group* together);

// Terms of all ranks, summed, take their place in the running statistics (ops/batch_norm.hpp).
class StatisticsSum {
 public:
  // `data`: the ranks that compute these layers; nullptr = this one alone.
  StatisticsSum(std::vector<NormStatistics*> layers, Group* data);
  void wait();
  void apply(std::int64_t num_groups);  // afterwards, once; until then nothing has changed

 private:
  std::vector<NormStatistics*> layers_;
  at::Tensor flat_;
  Handle summing_;
};

}  // namespace nereus::worker
