// `nereus validate --plans`: compares the planner's choice with measured runs.
//
// Runs with the same model, machine, batch, precision and software are a group. All of their
// configurations are in the planner's space, so its choice is predicted to be at least as fast as
// each of them that is predicted to fit. The gain is the predicted advantage over the fastest
// measured run.
#pragma once

#include <string>
#include <vector>

#include "app/progress.hpp"
#include "calibrate/runs.hpp"
#include "plan/degrees.hpp"
#include "stack/stack.hpp"

namespace nereus::app {

struct PlannedGroup {
  std::string set;
  std::string model;
  std::string device;
  int gpus = 0;
  int global_batch = 0;
  std::string precision;
  std::string stack;
  int runs = 0;           // runs that were measured, can be built, and are predicted to fit
  plan::Degrees fastest;  // the fastest of them, by measurement
  double fastest_measured = 0;
  double fastest_predicted = 0;
  double least_predicted = 0;  // the fastest prediction of all of them
  plan::Degrees planned;
  double planned_step = 0;
  double gain = 0;  // predicted throughput of the plan relative to the fastest measured run
  bool holds() const { return planned_step <= least_predicted * (1 + 1e-9); }
};

// In the order of the table. `sink` counts groups.
std::vector<PlannedGroup> plan_groups(const calibrate::RunTable& table,
                                      const cost::StackLibrary& library, const ProgressSink& sink);

}  // namespace nereus::app
