// Ranks of a played step by what they do: when each group is busy with what, and the spans in
// between in which it does nothing, which background jobs may have. Inside app/ only.
//
//   RankGroups groups = rank_groups(work, step, predictor.memory_by_rank(placement));
//   groups.shared[0].idle;             // what background jobs are given
//   groups.drawing(step, 16).slices;  // the rest, as a picture has it
#pragma once

#include <vector>

#include "predict/general/general_predictor.hpp"
#include "simulate/background_queue.hpp"
#include "simulate/step.hpp"
#include "timeline/timeline.hpp"

namespace nereus::app {

struct RankGroups {
  std::vector<simulate::SharedRanks> shared;  // those that the plan does not use last
  // By group, of its own lane: forward and backward passes, moves, and as kReduce sums of gradients
  // and what ends a step. They and the idle spans fill the step.
  std::vector<std::vector<timeline::Slice>> busy;

  // A lane a group.
  timeline::Timeline drawing(const simulate::SimulatedStep& step, int num_devices) const;
};

RankGroups rank_groups(const cost::StepWork& work, const simulate::SimulatedStep& step,
                       const std::vector<cost::GeneralPredictor::RankBytes>& bytes);

}  // namespace nereus::app
