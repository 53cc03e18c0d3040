// `nereus simulate --compat astra-sim`: one step of a plan as ASTRA-sim predicts it
// (simulate/compat/astra_iteration.hpp), for plans that it supports: dense GPT-style blocks,
// tensor- and data-parallel, one micro-batch per step. Other plans are rejected with all reasons.
//
//   AstraStepAnswer a = simulate_astra({.predict = {...}, .network_file = "switches.toml",
//                                       .algorithms = "ring,halving-doubling"});
//   a.iteration.ns;
//
// Fields that are not given are derived so that ASTRA-sim supports them: pp = cp = 1, no ZeRO, no
// recompute, no sequence parallelism, one micro-batch. The tensor axis is the network's first
// dimension with more than one rank, the data axis the second. Embeddings, head, optimizer, norms
// and host are not part of its model.
#pragma once

#include <optional>
#include <string>

#include "app/predict/predict_plan.hpp"
#include "simulate/compat/astra_iteration.hpp"

namespace nereus::app {

struct AstraStepRequest {
  PredictRequest predict;
  std::string network_file;   // empty: the cluster's network
  std::string algorithms;     // of the tensor and data axis; empty: ring
  std::optional<int> chunks;  // empty: 4
};

struct AstraStepAnswer {
  PredictAnswer predicted;
  simulate::AstraDecoder decoder;
  simulate::AstraDimension tensor, data;  // one rank if the degree is 1
  simulate::AstraIteration iteration;
  double seconds = 0;  // simulation time
};

AstraStepAnswer simulate_astra(const AstraStepRequest& request);

}  // namespace nereus::app
