// `nereus simulate PLAN --background OTHER`: a cluster with a foreground job and a queue of
// background jobs (simulate/background_queue.hpp), beside plain data parallelism, each with and
// without sharing.
//
//   ClusterAnswer a =
//       simulate_cluster({.foreground = {...}, .background = {"bg.plan,copies=all"}});
//   a.rows[3].cluster / a.rows[0].cluster;    // burst and shared over data parallelism alone
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
  double slowdown = 0.05;               // promised
  std::int64_t steps = 1000;            // of the foreground
  std::string svg_file;                 // a step of the plan with what is left; empty: none
};

// One setting. Devices' worth of work: what one device would take over what it takes here.
struct ClusterRow {
  std::string name;
  bool shared = false;
  double step_s = 0;
  double slowdown = 0;       // over the same plan alone
  double samples_per_s = 0;  // of the foreground
  double foreground = 0;     // devices' worth
  double background = 0;     // devices' worth
  double idle = 0;           // share of all devices' time that the foreground alone leaves
  double cluster() const { return foreground + background; }
  simulate::QueuePlay play;
};

struct ClusterAnswer {
  PredictAnswer predicted;  // the foreground's plan
  int num_devices = 0;
  std::vector<simulate::QueuedJob> jobs;
  std::vector<ClusterRow> rows;  // data parallel, the same shared, the plan, the same shared
  double one_device_s = 0;       // the foreground's step on one device
  simulate::SharingRules rules;
  std::int64_t steps = 0;
  timeline::Timeline passes;  // of the plan's step, a lane for ranks that do the same
  double seconds = 0;         // that it took
};

// Throws Errors: simulate.background, simulate.background-cluster, simulate.background-ranks,
// simulate.background-memory.
ClusterAnswer simulate_cluster(const ClusterSimulation& request);

}  // namespace nereus::app
