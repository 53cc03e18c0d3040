// `nereus predict`: how long one step of a stated plan takes, where the time goes, what memory it
// needs.
//
//   PredictAnswer a = predict({.model = {"llama3-70b"}, .cluster = {"16xdgx-h100"},
//                              .degrees = {.tp = 8}});
//   a.prediction.step;    // seconds
//
// What is not given is derived, and `derived` names it. With nothing given at all the stated
// default is predicted: llama3-70b on 16xdgx-h100, tp 8, pp 4.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/predict/layer_source.hpp"
#include "app/predict/requests.hpp"
#include "cluster/cluster.hpp"
#include "cost/basis.hpp"
#include "model/model.hpp"
#include "plan/degrees.hpp"
#include "plan/placement.hpp"
#include "predict/predictor.hpp"

namespace nereus::app {

struct PredictRequest {
  ModelRequest model;
  ClusterRequest cluster;
  DegreesRequest degrees;
  CalibrationRequest calibration;
  std::string plan_file;  // instead of model, cluster and degrees
};

// Inputs looked up, completed and checked.
struct ResolvedPlan {
  model::Model model;
  cluster::Cluster cluster;
  cost::Basis basis;
  std::optional<plan::Degrees> degrees;  // where the plan is regular
  plan::Placement placement;             // where it is not
  std::vector<std::string> derived;      // fields that were not given
};

struct PredictAnswer {
  ResolvedPlan plan;
  cost::Prediction prediction;
  double rate_per_device = 0;  // tokens/s, or samples/s where the model has no tokens
  bool counts_tokens = true;
  std::optional<double> usd_per_step;
  std::string price_date;
  cost::ExpectedError expected;  // of runs like this one; rows = 0 where nobody measured any
  std::vector<std::string> assumptions;
  std::vector<LayerSource> sources;  // of layers' times, where profiles were given
};

// Model, cluster and basis looked up: all that is wrong with the three is said at once. The stated
// default stands in for what is not given.
struct Inputs {
  model::Model model;
  cluster::Cluster cluster;
  cost::Basis basis;
};
Inputs load_inputs(const ModelRequest& model, std::optional<int> seq, const ClusterRequest& cluster,
                   const CalibrationRequest& calibration);
// Throws Errors with all that is wrong with the inputs.
ResolvedPlan resolve(const PredictRequest& request);
// The same of model and degrees on a machine that no catalogue knows, with the stack of that name
// where none is given.
ResolvedPlan resolve_on(const PredictRequest& request, const cluster::Cluster& machine,
                        const std::string& usual_stack);
// What is to be said of a prediction beside its numbers.
PredictAnswer describe(ResolvedPlan plan, const cost::Prediction& prediction);
cost::Prediction predict_step(const ResolvedPlan& plan);
PredictAnswer predict(const PredictRequest& request);
PredictAnswer predict(ResolvedPlan plan);

}  // namespace nereus::app
