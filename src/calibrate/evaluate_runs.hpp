// Predicts measured runs with a library of stacks.
//
//   predict(run, library).step                     // one run
//   PredictorOf predictor(run, library);           // the same run under other plans
//   predictor.predict(degrees)
#pragma once

#include "calibrate/runs.hpp"
#include "predict/predictor.hpp"
#include "stack/stack.hpp"

namespace nereus::calibrate {

// `run` must outlive it, and keep its model, cluster, stack and precision.
class PredictorOf {
 public:
  PredictorOf(const Run& run, const cost::StackLibrary& library);
  cost::Prediction predict(const plan::Degrees& degrees) { return predictor_.predict(degrees); }

 private:
  cost::Predictor predictor_;
};

cost::Prediction predict(const Run& run, const cost::StackLibrary& library);
// The memory that the run's software would report.
double reported_memory(const cost::Prediction& prediction, const cost::StackOptions& options);
// (predicted - measured) / max(measured, 4 GiB)
double memory_error(const Run& run, const cost::Prediction& prediction,
                    const cost::StackLibrary& library);

}  // namespace nereus::calibrate
