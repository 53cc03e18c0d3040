// Groups the ranks of a simulated step by what they do: when each group is busy, and the idle spans
// in between, which background jobs may use. Only for use inside app/.
//
//   RankGroups groups = rank_groups(work, step, predictor.memory_by_rank(placement));
//   groups.shared[0].idle;             // what background jobs can use
//   groups.drawing(step, 16).slices;  // the rest, for a picture
#pragma once

#include <vector>

#include "predict/general/general_predictor.hpp"
#include "simulate/background_queue.hpp"
#include "simulate/step.hpp"
#include "timeline/timeline.hpp"

namespace nereus::app {

struct RankGroups {
  std::vector<simulate::SharedRanks> shared;  // ranks that the plan does not use come last
  // By group, each with a separate lane: forward and backward passes, moves, and as kReduce the
  // gradient all-reduces and the end of the step. Together with the idle spans they fill the step.
  std::vector<std::vector<timeline::Slice>> busy;

  // One lane per group.
  timeline::Timeline drawing(const simulate::SimulatedStep& step, int num_devices) const;
};

RankGroups rank_groups(const cost::StepWork& work, const simulate::SimulatedStep& step,
                       const std::vector<cost::GeneralPredictor::RankBytes>& bytes);

}  // namespace nereus::app
