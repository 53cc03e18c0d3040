#include "calibrate/evaluate_runs.hpp"

#include <algorithm>

#include "base/units.hpp"

namespace nereus::calibrate {

namespace {

cost::Basis basis_of(const Run& run, const cost::StackLibrary& library) {
  cost::Stack stack = library.resolve(run.stack, run.site);
  stack.options = cost::options_for(stack.options, run.degrees.precision, run.degrees.state_types);
  stack.options.attention = run.attention;
  return cost::Basis(stack);
}

}  // namespace

PredictorOf::PredictorOf(const Run& run, const cost::StackLibrary& library)
    : predictor_(*run.model, run.cluster, basis_of(run, library), 64) {}

cost::Prediction predict(const Run& run, const cost::StackLibrary& library) {
  return cost::Predictor(*run.model, run.cluster, basis_of(run, library), 1).predict(run.degrees);
}

double reported_memory(const cost::Prediction& prediction, const cost::StackOptions& options) {
  return options.memory_report == cost::MemoryReport::kFirstRankAllocated
             ? prediction.memory.first_rank_allocated
             : prediction.memory.total;
}

double memory_error(const Run& run, const cost::Prediction& prediction,
                    const cost::StackLibrary& library) {
  const cost::StackOptions& options = library.stacks.find(run.stack)->second.options;
  return (reported_memory(prediction, options) - run.memory) / std::max(run.memory, 4 * kGiB);
}

}  // namespace nereus::calibrate
