// The passes of one lane (a set of teams that behave alike, simulate/step.hpp): their order, and
// the times of passes and messages.
//
// A rank is blocked while it sends, less what the stack overlaps in the steady state
// (pipeline_overlap). The messages with the first micro-batch's activations and with the last
// micro-batch's gradients do not overlap with passes. The first and the last rank are blocked as
// often as the others, although they exchange messages with only one neighbor
// (cost/pipeline_time.hpp); not under ZB-V and DualPipe. Varuna sends while it computes.
//
// If every micro-batch reduces its gradients (ZeRO-2), the exposed part of that belongs to its
// backward pass; the last one is simulated with the step's reduction (simulate/reduction.hpp).
//
// The passes have the schedule's order, or a given order. If the schedule has no order for this
// placement of stages on ranks, or for so few micro-batches, schedule/greedy.hpp makes one.
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
  bool greedy = false;  // not the schedule's order
};

// `given` is a custom order with as many ranks, stages and micro-batches.
SimulatedLaneOrder lane_order(const cost::StepWork& work, const cost::LaneWork& lane,
                              const std::optional<Order>& given);

}  // namespace nereus::simulate
