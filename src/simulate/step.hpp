// Simulates one step of any plan pass by pass, with the times of the cost model
// (predict/step_work.hpp).
//
// Every lane (a set of teams that behave alike) runs a separate pipeline (simulate/pipeline). Each
// of its ranks reduces its gradients, overlapped with its last passes (simulate/reduction.hpp).
// When the slowest team has reduced all its gradients, all ranks update:
//   step = max over teams (end of last pass or reduction + host time of the lane) + closing
// Zero-bubble schedules update without a common barrier (Qi 2023, post-validation): each rank
// starts the next step when it has finished this one. The step time is then the maximum over ranks
// of
//   end of the rank's last pass or reduction - start of its first pass
// and is not counted from the earliest first pass of any rank.
//
// simulate/lane_order.hpp has the times and the order of a lane's passes and messages.
//
// One team represents all teams of its lane, because they do the same at the same time. If
// durations vary (simulate/pipeline/jitter.hpp), every team has separate draws; a team with a slow
// rank is simulated separately. If teams wait for each other at every pass (LaneWork::joint), each
// pass takes the longest of the teams' draws.
//
// Burst plans, whose work has the time of every layer, are first simulated layer by layer
// (simulate/played_layers.hpp); the result gives the lengths of their forward and backward passes.
//
//   SimulatedStep step = simulate_step(predictor.work(degrees), {});
//   step.step;                                   // seconds
#pragma once

#include <optional>
#include <vector>

#include "predict/step_work.hpp"
#include "simulate/lane_order.hpp"
#include "simulate/pipeline/jitter.hpp"
#include "simulate/played_layers.hpp"
#include "simulate/reduction.hpp"

namespace nereus::simulate {

struct StepOptions {
  std::optional<Order> order;  // replaces the schedule's order in all lanes
  Jitter jitter;
  int num_steps = 1;  // steps with different draws
};

// One pipeline, and the teams that it represents.
struct SimulatedTeam {
  int lane = 0;
  int team = 0;
  int count = 1;
  Order order;  // the order in which its passes ran; empty: the lane's order
  PlayedPipeline played;
  std::vector<std::vector<Reduced>> reduced;  // by pipeline rank
  Picoseconds end = 0;    // end of passes and reductions, plus the lane's host time
  Picoseconds takes = 0;  // `end`; if staggered, the largest time from a rank's first pass on
};

struct SimulatedStep {
  double step = 0;  // seconds; of the first step if there are several
  std::vector<SimulatedLaneOrder> lanes;
  std::vector<SimulatedTeam> teams;     // of the first step
  Picoseconds meet = 0;                 // when all teams are done with passes and reductions
  Picoseconds end = 0;                  // end of the step
  std::vector<double> steps;            // seconds of every step
  std::int64_t events = 0;              // starts and ends of passes, and arrivals of messages
  std::int64_t events_represented = 0;  // over all ranks and steps
  bool staggered = false;               // no common barrier
  std::optional<PlayedGraph> layers;    // if the work has layers
  const SimulatedTeam& slowest() const;
  const Order& order_of(const SimulatedTeam& team) const {
    return team.order.empty() ? lanes[team.lane].order : team.order;
  }
};

// Throws Errors for an invalid order, or a slow rank that the plan does not use.
SimulatedStep simulate_step(const cost::StepWork& work, const StepOptions& options);

}  // namespace nereus::simulate
