// `nereus simulate`: simulates one step of a plan event by event.
//
//   SimulateAnswer a = simulate_plan({.predict = {...}, .jitter = "normal:5%", .steps = 200});
//   a.step.step;                // seconds
//   a.quantiles.p99;
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/predict/predict_plan.hpp"
#include "chakra/chakra_play.hpp"
#include "simulate/shared_links.hpp"
#include "simulate/step.hpp"
#include "simulate/step_statistics.hpp"
#include "timeline/timeline.hpp"

namespace nereus::app {

struct SimulateRequest {
  PredictRequest predict;   // a plan file, or model, cluster and degrees
  std::string order_file;   // custom order of passes; empty: the schedule's
  std::string jitter;       // of compute, in the form of simulate/pipeline/jitter.hpp; empty: none
  std::string link_jitter;  // of messages
  std::vector<std::string> slow;  // "RANK:FACTOR"
  std::optional<std::uint64_t> seed;
  std::optional<int> steps;  // number of steps to draw; empty: 1, or 100 if durations vary
  std::string links;         // "stack" or "shared"; empty: stack
  bool layers = false;  // also simulate layer by layer, with collectives on the cluster's network
  std::string trace_file;  // Chrome trace; empty: none
  std::string svg_file;    // picture; empty: none
};

// Quantiles of the drawn steps, in seconds.
struct StepQuantiles {
  int steps = 1;
  double mean = 0, least = 0, p5 = 0, p50 = 0, p95 = 0, p99 = 0, most = 0;
};

struct SimulateAnswer {
  PredictAnswer predicted;
  cost::StepWork work;
  simulate::SimulatedStep step;
  simulate::StepStatistics statistics;
  std::optional<StepQuantiles> quantiles;           // if durations vary
  std::optional<simulate::SharedLinksStep> shared;  // if links are shared
  std::optional<chakra::LayerPlay> layers;          // if requested
  double layers_seconds = 0;                        // time to simulate them
  bool fits = false;          // every rank within its memory, in the simulated order
  timeline::Timeline passes;  // of the slowest team, for drawing
  double seconds = 0;         // simulation time
};

// Throws Errors with all errors of the request.
SimulateAnswer simulate_plan(const SimulateRequest& request);

StepQuantiles quantiles_of(std::vector<double> steps);

}  // namespace nereus::app
