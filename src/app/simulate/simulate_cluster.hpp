// `nereus simulate PLAN --background OTHER`: a cluster with a foreground job and a queue of
// background jobs (simulate/background_queue.hpp), compared with plain data parallelism, both with
// and without sharing.
//
//   ClusterAnswer a =
//       simulate_cluster({.foreground = {...}, .background = {"bg.plan,copies=all"}});
//   a.rows[3].cluster / a.rows[0].cluster;    // burst and shared / unshared data parallelism
#pragma once

#include <string>
#include <vector>

#include "app/predict/predict_plan.hpp"
#include "simulate/background_queue.hpp"
#include "timeline/timeline.hpp"

namespace nereus::app {

struct ClusterSimulation {
  PredictRequest foreground;
  std::vector<std::string> background;  // "PLAN[,steps=N][,copies=N|all]", in the queue's order
  double slowdown = 0.05;               // promised limit
  std::int64_t steps = 1000;            // of the foreground
  std::string svg_file;                 // picture of a step with its idle time; empty: none
};

// One setting. Work is measured in devices: the time on one device divided by the time in this
// setting.
struct ClusterRow {
  std::string name;
  bool shared = false;
  double step_s = 0;
  double slowdown = 0;       // relative to the same plan without background
  double samples_per_s = 0;  // of the foreground
  double foreground = 0;     // work in devices
  double background = 0;     // work in devices
  double idle = 0;           // share of all devices' time that is idle without background
  double cluster() const { return foreground + background; }
  simulate::QueuePlay play;
};

struct ClusterAnswer {
  PredictAnswer predicted;  // the foreground's plan
  int num_devices = 0;
  std::vector<simulate::QueuedJob> jobs;
  std::vector<ClusterRow> rows;  // data parallel, the same shared, the plan, the same shared
  double one_device_s = 0;       // foreground's step on one device
  simulate::SharingRules rules;
  std::int64_t steps = 0;
  timeline::Timeline passes;  // of the plan's step, one lane per group of equal ranks
  double seconds = 0;         // simulation time
};

// Throws Errors: simulate.background, simulate.background-cluster, simulate.background-ranks,
// simulate.background-memory.
ClusterAnswer simulate_cluster(const ClusterSimulation& request);

}  // namespace nereus::app
