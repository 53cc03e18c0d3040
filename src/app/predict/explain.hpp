// `nereus explain`: the computation behind one prediction, layer by layer, with its assumptions and
// numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/predict/predict_plan.hpp"
#include "cost/kernel_time.hpp"

namespace nereus::app {

// One operator of one layer, for one micro-batch on one rank.
struct OperatorLine {
  std::string layer;
  std::string name;
  std::string kind;
  std::string shape;  // "4096 x 8192 x 1280"
  cost::OperatorCost cost;
};

struct LayerLine {
  std::string layer;
  int count = 0;  // in the whole model
  cost::LayerCost cost;
};

// A number of the cost model, with its source and range.
struct ParameterLine {
  std::string name;
  double value = 0;
  std::string unit;
  std::string meaning;
  std::string where;  // "device:H100", "stack:nanotron", "default"
  double low = 0;     // range of the fit; 0, 0 if it was not fitted
  double high = 0;
  int rows = 0;
};

// Consecutive layers that the same ranks compute.
struct RunLine {
  int first_layer = 0;
  int num_layers = 0;
  int first_rank = 0;
  int ranks = 0;
  int ranks_per_team = 1;  // ranks that compute the same samples; the maximum over teams
  std::int64_t least_samples = 0, most_samples = 0;  // per team and step
};

struct ExplainAnswer {
  PredictAnswer prediction;
  std::vector<OperatorLine> operators;
  std::vector<LayerLine> layers;
  std::vector<RunLine> runs;
  std::vector<ParameterLine> parameters;
};

// Only regular plans on uniform clusters have a representative micro-batch. For these plans the
// answer has `operators` and `layers`; for all others it has `runs`.
ExplainAnswer explain(const PredictRequest& request);

}  // namespace nereus::app
