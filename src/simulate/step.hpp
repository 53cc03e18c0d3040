// One step of any plan, played pass by pass with the times of the cost model
// (predict/step_work.hpp).
//
// Every lane of teams that act alike runs its own pipeline (simulate/pipeline); each of its ranks
// reduces its gradients beside its last passes (simulate/reduction.hpp); when the slowest team has
// reduced all of them, everybody updates:
//   step = max over teams (last pass or reduction + host of the lane) + closing
// Zero-bubble schedules update without a common barrier (Qi 2023, post-validation): each rank goes
// on with the next step when it is done with its own, so that a step takes the longest of
//   last pass or reduction - first pass        over ranks
// instead of the time from the first pass of all.
//
// What a lane's passes and messages take, and in which order: simulate/lane_order.hpp.
//
// Teams of a lane are folded into one: they do the same at the same time. Where durations vary
// (simulate/pipeline/jitter.hpp) every team draws its own; a slow rank unfolds its own team. Teams
// that wait for each other at every pass (LaneWork::joint) take the longest of their draws in each.
//
// Burst plans, which say what every layer takes, are played layer by layer first
// (simulate/played_layers.hpp); that says how long their two passes are.
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
  std::optional<Order> order;  // instead of the schedule's; of all lanes
  Jitter jitter;
  int num_steps = 1;  // that differ in what they draw
};

// One pipeline, and the teams that it stands for.
struct SimulatedTeam {
  int lane = 0;
  int team = 0;
  int count = 1;
  Order order;  // as it was run; empty: its lane's
  PlayedPipeline played;
  std::vector<std::vector<Reduced>> reduced;  // by pipeline rank
  Picoseconds end = 0;                        // of passes and reductions, and of the lane's host
  Picoseconds takes = 0;                      // the same from the first pass, as above
};

struct SimulatedStep {
  double step = 0;  // seconds; of the first step where there are several
  std::vector<SimulatedLaneOrder> lanes;
  std::vector<SimulatedTeam> teams;     // of the first step
  Picoseconds meet = 0;                 // when all are done with passes and reductions
  Picoseconds end = 0;                  // of the step
  std::vector<double> steps;            // seconds of every step, in turn
  std::int64_t events = 0;              // starts and ends of passes, arrivals of messages
  std::int64_t events_represented = 0;  // over all ranks and steps
  bool staggered = false;               // no common barrier
  std::optional<PlayedGraph> layers;    // where the work has them
  const SimulatedTeam& slowest() const;
  const Order& order_of(const SimulatedTeam& team) const {
    return team.order.empty() ? lanes[static_cast<std::size_t>(team.lane)].order : team.order;
  }
};

// Throws Errors for an order that is none, a slow rank that the plan does not use.
SimulatedStep simulate_step(const cost::StepWork& work, const StepOptions& options);

}  // namespace nereus::simulate
