// `nereus explain`: the arithmetic behind one prediction, layer by layer, with its assumptions and
// the numbers used.
#pragma once

#include <string>
#include <vector>

#include "app/predict.hpp"
#include "cost/kernels.hpp"

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

// A number of the cost model with what is known about it.
struct ParameterLine {
  std::string name;
  double value = 0;
  std::string unit;
  std::string meaning;
  std::string where;  // "device:H100", "stack:nanotron", "default"
  double low = 0;     // of the fit; 0, 0 where it was not fitted
  double high = 0;
  int rows = 0;
};

struct ExplainAnswer {
  PredictAnswer prediction;
  std::vector<OperatorLine> operators;
  std::vector<LayerLine> layers;
  std::vector<ParameterLine> parameters;
};

// Only regular plans on uniform clusters have one micro-batch that stands for all.
ExplainAnswer explain(const PredictRequest& request);

}  // namespace nereus::app
