// `nereus predict`: predicts how long one step of a given plan takes, what the time is spent on,
// and how much memory the plan needs.
//
//   PredictAnswer a = predict({.model = {"llama3-70b"}, .cluster = {"16xdgx-h100"},
//                              .degrees = {.tp = 8}});
//   a.prediction.step;    // seconds
//
// Fields that are not given are derived; `derived` has their names. If nothing at all is given, the
// plan is the default: llama3-70b on 16xdgx-h100, tp 8, pp 4.
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
#include "stack/error_table.hpp"

namespace nereus::app {

struct PredictRequest {
  ModelRequest model;
  ClusterRequest cluster;
  DegreesRequest degrees;
  CalibrationRequest calibration;
  std::string plan_file;  // instead of model, cluster and degrees
};

// The inputs after look-up, completion and checks.
struct ResolvedPlan {
  model::Model model;
  cluster::Cluster cluster;
  cost::Basis basis;
  std::optional<plan::Degrees> degrees;  // if the plan is regular
  plan::Placement placement;             // if it is not
  std::vector<std::string> derived;      // fields that were not given
};

struct PredictAnswer {
  ResolvedPlan plan;
  cost::Prediction prediction;
  double rate_per_device = 0;  // tokens/s, or samples/s if the model has no tokens
  bool counts_tokens = true;
  std::optional<double> usd_per_step;
  std::string price_date;
  // How far measured runs like this one are from predictions; none if nothing is known of them.
  std::optional<cost::ErrorBand> step_error, memory_error;
  std::optional<double> step_low, step_high;      // seconds: 80 % of runs
  std::optional<double> memory_low, memory_high;  // bytes of the fullest rank
  std::optional<double> fits_probability;
  std::vector<std::string> assumptions;
  std::vector<LayerSource> sources;  // sources of the layers' times, if profiles were given
};

// Looks up model, cluster and basis, and throws the errors of all three at once. Inputs that are
// not given have their defaults.
struct Inputs {
  model::Model model;
  cluster::Cluster cluster;
  cost::Basis basis;
};
Inputs load_inputs(const ModelRequest& model, std::optional<int> seq, const ClusterRequest& cluster,
                   const CalibrationRequest& calibration);
// Throws Errors with all that is wrong with the inputs.
ResolvedPlan resolve(const PredictRequest& request);
// Like resolve(), but for a machine that is in no catalog. `usual_stack` is the stack if the
// request gives none.
ResolvedPlan resolve_on(const PredictRequest& request, const cluster::Cluster& machine,
                        const std::string& usual_stack);
// What a plan is of, by which errors are known; none if layers were measured, since no run tells
// how well such predictions hold. `filled` is the predicted share of device memory.
std::optional<cost::Conditions> conditions_of(const ResolvedPlan& plan, double filled);
// Adds to a prediction what is reported with it: rates, cost, intervals, assumptions.
PredictAnswer describe(ResolvedPlan plan, const cost::Prediction& prediction);
cost::Prediction predict_step(const ResolvedPlan& plan);
PredictAnswer predict(const PredictRequest& request);
PredictAnswer predict(ResolvedPlan plan);

}  // namespace nereus::app
