// Predicts one measured run with a library of stacks.
#pragma once

#include "calibrate/runs.hpp"
#include "predict/predictor.hpp"
#include "stack/stack.hpp"

namespace nereus::calibrate {

cost::Prediction predict(const Run& run, const cost::StackLibrary& library);
// The memory that the run's software would report.
double reported_memory(const cost::Prediction& prediction, const cost::StackOptions& options);
// (predicted - measured) / max(measured, 4 GiB)
double memory_error(const Run& run, const cost::Prediction& prediction,
                    const cost::StackLibrary& library);

}  // namespace nereus::calibrate
