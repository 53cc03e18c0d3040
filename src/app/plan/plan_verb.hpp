// `nereus plan`: the best plans to train a model on a cluster. Uniform clusters are searched by
// degrees, mixed ones by placements (app/plan/plan_mixed.hpp).
//
//   PlanAnswer a = plan({.model = {"llama3-70b"}, .cluster = {"16xdgx-h100"}});
//   a.plans.front().prediction.step;        // best first; empty if nothing fits
//   a.lifts;                                // then: changes that would make a plan fit
//
// If nothing at all is given, the default is llama3-70b on 16xdgx-h100. If no global batch is
// given, it is plan::default_global_batch.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/predict/headroom.hpp"
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
  std::optional<exporting::Engine> engine;  // must be able to run the plans
  std::vector<int> nodes;                   // sizes of the cluster to try; empty = the given size
  search::SearchOptions options;
  // If positive, options.headroom is derived: plans fit with this probability
  // (stack/error_table.hpp); if none does, any plan that is predicted to fit.
  double fits_probability = 0;
  bool lifts = true;  // if nothing fits: find changes that would make a plan fit
};

// A change that would make a plan fit, and that plan.
struct Lift {
  std::string change;  // "2 nodes instead of 1"
  double step = 0;
  std::optional<plan::Degrees> degrees;  // if that plan is regular
  std::string family;                    // if it is not: its family, and how it computes
  plan::Placement placement;
};

// For a cluster with several kinds of node.
struct MixedSummary {
  std::vector<std::string> families;  // of each of PlanAnswer::plans (search/mixed)
  struct Baseline {
    std::string name;
    double step = 0;
  };
  std::vector<Baseline> baselines;  // plans of simple rules that fit, with the same predictor
  double bound = 0;                 // seconds that no plan on these devices can beat
  std::int64_t left_out = 0;        // candidates neither predicted nor pruned by a bound
  bool every = true;                // the space has all team counts and all orders of groups
};

struct PlanAnswer {
  std::vector<PredictAnswer> plans;       // best first
  double headroom = 0;                    // that the plans leave
  bool tight = false;                     // no plan fits with the requested probability
  std::optional<PredictAnswer> left_out;  // a faster plan that is less likely to fit
  Inputs inputs;                          // with the cluster as given
  search::SearchResult search;
  search::Choices choices;  // including derived ones
  std::vector<std::string> derived;
  double seconds = 0;
  std::optional<MixedSummary> mixed;
  // If nothing fits.
  std::string binding;  // the constraint, with its numbers
  std::vector<Lift> lifts;
};

PlanAnswer plan(const PlanRequest& request, const ProgressSink& progress = {});

// Converts the plan to its file form.
plan::Plan to_plan(const ResolvedPlan& plan);

}  // namespace nereus::app
