// `nereus simulate`: one step of a plan played event by event.
//
//   SimulateAnswer a = simulate({.predict = {...}, .svg_file = "step.svg"});
//   a.step.step;                // seconds
#pragma once

#include <string>

#include "app/predict.hpp"
#include "simulate/step.hpp"

namespace nereus::app {

struct SimulateRequest {
  PredictRequest predict;  // a plan file, or model, cluster and degrees
  std::string trace_file;  // Chrome trace; empty: none
  std::string svg_file;    // picture; empty: none
};

struct SimulateAnswer {
  PredictAnswer predicted;
  simulate::SimulatedStep step;
  timeline::Timeline timeline;
  double seconds = 0;  // that the simulation took
};

SimulateAnswer simulate_plan(const SimulateRequest& request);

}  // namespace nereus::app
