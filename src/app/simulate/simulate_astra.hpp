// `nereus simulate --compat astra-sim`: one step of a plan as ASTRA-sim sees it
// (simulate/compat/astra_iteration.hpp), for plans that it can express: dense GPT-style blocks,
// tensor- and data-parallel, one micro-batch a step. All others are refused with every reason.
//
//   AstraStepAnswer a = simulate_astra({.predict = {...}, .network_file = "switches.toml",
//                                       .algorithms = "ring,halving-doubling"});
//   a.iteration.ns;
//
// What is not given is derived so that the view can express it: pp = cp = 1, no ZeRO, no
// recompute, no sequence parallelism, one micro-batch. The tensor axis is the network's first
// dimension of more than one rank, the data axis the second. Embeddings, head, optimizer, norms and
// host are no part of this view.
#pragma once

#include <optional>
#include <string>

#include "app/predict/predict_plan.hpp"
#include "simulate/compat/astra_iteration.hpp"

namespace nereus::app {

struct AstraStepRequest {
  PredictRequest predict;
  std::string network_file;   // empty: the cluster's own network
  std::string algorithms;     // of tensor and data axis; empty: ring
  std::optional<int> chunks;  // empty: 4
};

struct AstraStepAnswer {
  PredictAnswer predicted;
  simulate::AstraDecoder decoder;
  simulate::AstraDimension tensor, data;  // of one rank where the degree is 1
  simulate::AstraIteration iteration;
  double seconds = 0;  // that the simulation took
};

AstraStepAnswer simulate_astra(const AstraStepRequest& request);

}  // namespace nereus::app
