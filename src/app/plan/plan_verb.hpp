// `nereus plan`: the best ways to train a model on a cluster, from the description alone. Uniform
// clusters are searched by degrees, mixed ones by placements (app/plan/plan_mixed.hpp).
//
//   PlanAnswer a = plan({.model = {"llama3-70b"}, .cluster = {"16xdgx-h100"}});
//   a.plans.front().prediction.step;        // best first; empty where nothing fits
//   a.lifts;                                // then: what would make it fit, the least first
//
// With nothing given at all the stated default is planned: llama3-70b on 16xdgx-h100. The global
// batch, where not given, is plan::default_global_batch.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/predict/predict_plan.hpp"
#include "app/progress.hpp"
#include "export/bundle.hpp"
#include "plan/placement.hpp"
#include "search/regular/regular_search.hpp"

namespace nereus::app {

struct PlanRequest {
  ModelRequest model;
  ClusterRequest cluster;
  CalibrationRequest calibration;
  search::Choices choices;  // global_batch 0 = derived
  std::optional<int> seq;
  std::optional<cluster::Precision> precision;
  std::optional<exporting::Engine> engine;  // that must be able to run the plans
  std::vector<int> nodes;                   // sizes of the cluster to look at; empty = as it is
  search::SearchOptions options;
  bool lifts = true;  // where nothing fits: look for what would make a plan fit
};

// A change that would make some plan fit, and the plan it gives.
struct Lift {
  std::string change;  // "2 nodes instead of 1"
  double step = 0;
  std::optional<plan::Degrees> degrees;  // where that plan is regular
  std::string family;                    // where it is not: how it computes and what it is
  plan::Placement placement;
};

// Of a cluster of several kinds of node.
struct MixedSummary {
  std::vector<std::string> families;  // of PlanAnswer::plans
  struct Baseline {
    std::string name;
    double step = 0;
  };
  std::vector<Baseline> baselines;  // simple rules that fit, under the same predictor
  double bound = 0;                 // seconds that no plan of these devices can beat
  std::int64_t left_out = 0;        // candidates neither predicted nor cut by a bound
  bool every = true;                // all numbers of teams and orders of groups are in the space
};

struct PlanAnswer {
  std::vector<PredictAnswer> plans;  // best first
  Inputs inputs;                     // the cluster as given
  search::SearchResult search;
  search::Choices choices;  // with what was derived
  std::vector<std::string> derived;
  double seconds = 0;
  std::optional<MixedSummary> mixed;
  // Where nothing fits.
  std::string binding;  // the constraint, with its numbers
  std::vector<Lift> lifts;
};

PlanAnswer plan(const PlanRequest& request, const ProgressSink& progress = {});

// The plan as a file holds it.
plan::Plan to_plan(const ResolvedPlan& plan);

}  // namespace nereus::app
