// `nereus validate --plans`: what the planner would have chosen where people measured runs.
//
// Runs of one model on one machine with one batch, precision and software are a group. All of their
// configurations are points of the planner's space, so its choice is predicted no slower than any
// of them that is predicted to fit; the gain is what it claims over the best of the measured ones.
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
  int runs = 0;           // that ran, can be built and are predicted to fit
  plan::Degrees fastest;  // of them, as measured
  double fastest_measured = 0;
  double fastest_predicted = 0;
  double least_predicted = 0;  // of all of them
  plan::Degrees planned;
  double planned_step = 0;
  double gain = 0;  // throughput of the plan over the fastest measured, as predicted
  bool holds() const { return planned_step <= least_predicted * (1 + 1e-9); }
};

// In the order of the tables. `sink` counts groups.
std::vector<PlannedGroup> plan_groups(const calibrate::RunTable& table,
                                      const cost::StackLibrary& library, const ProgressSink& sink);

}  // namespace nereus::app
