// One step of a regular plan, played pass by pass (simulate/pipeline), with the times of its stages
// and transfers from the cost model (cost/predict.hpp).
//
//   step = when the pipeline's last pass ends + what comes once a step beside it
//          (reduction left exposed, optimizer, host)
//
// One replica stands for all: ranks that differ only in their data, tensor or context index do the
// same at the same time. Activations travel while ranks compute on; what the stack hides of them in
// the steady state (pipeline_overlap) is taken off every transfer.
//
//   SimulatedStep step = simulate_step(model, cluster, stack, degrees);
//   step.step;                          // seconds
#pragma once

#include "cost/predict.hpp"
#include "simulate/pipeline/play.hpp"
#include "timeline/timeline.hpp"

namespace nereus::simulate {

struct SimulatedStep {
  double step = 0;  // seconds
  cost::Prediction predicted;
  PipelineSize size;
  Order order;
  PlayedPipeline played;
  double rest = 0;                      // seconds beside the pipeline
  std::int64_t events = 0;              // starts and ends of passes, arrivals of transfers
  std::int64_t events_represented = 0;  // over all ranks
};

SimulatedStep simulate_step(const model::Model& model, const cluster::Cluster& cluster,
                            const cost::Stack& stack, const plan::Degrees& degrees);

// A lane per pipeline rank.
timeline::Timeline to_timeline(const SimulatedStep& step);

}  // namespace nereus::simulate
