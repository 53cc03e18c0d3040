// The passes of one lane of a step: their order, and what they and their messages take.
//
// A rank is held up while it sends, less what the stack hides in the steady state
// (pipeline_overlap); the first activations and the last gradients have nothing to hide behind. The
// ends of the pipeline are held up as often, as cost/pipeline_time.hpp says.
// Varuna sends while it computes on.
//
// The order of passes is the schedule's, or one given. Where stages lie on ranks in a way that the
// schedule does not know, or a lane has too few micro-batches for it, schedule/greedy.hpp
// makes one.
//
//   SimulatedLaneOrder own = lane_order(work, work.lanes[0], {});
//   PipelinePlayer(own.order, own.size).play(own.times);
#pragma once

#include <optional>

#include "predict/step_work.hpp"
#include "simulate/pipeline/pipeline_play.hpp"

namespace nereus::simulate {

struct SimulatedLaneOrder {
  PipelineSize size;
  Order order;
  PassTimes times;
  bool greedy = false;  // not the schedule's own
};

// `given` is an order of one's own, for as many ranks, stages and micro-batches.
SimulatedLaneOrder lane_order(const cost::StepWork& work, const cost::LaneWork& lane,
                              const std::optional<Order>& given);

}  // namespace nereus::simulate
