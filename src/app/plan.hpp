// `nereus plan`: the best ways to train a model on a uniform cluster, from the description alone.
//
//   PlanAnswer a = plan({.model = {"llama3-70b"}, .cluster = {"16xdgx-h100"}});
//   a.plans.front().prediction.step;        // best first; empty where nothing fits
//   a.lifts;                                // then: what would make it fit, the least first
//
// With nothing given at all the stated default is planned: llama3-70b on 16xdgx-h100. The global
// batch, where not given, is a power of two samples a device, at least one: as near as that comes
// to four million tokens, or 32 for models without tokens, 4,096 for those with embedding tables.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/predict.hpp"
#include "app/progress.hpp"
#include "export/bundle.hpp"
#include "plan/placement.hpp"
#include "search/regular/search.hpp"

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
};

// A change that would make some plan fit, and the plan it gives.
struct Lift {
  std::string change;  // "2 nodes instead of 1"
  double step = 0;
  plan::Degrees degrees;
};

struct PlanAnswer {
  std::vector<PredictAnswer> plans;  // best first
  Inputs inputs;                     // the cluster as given
  search::SearchResult search;
  search::Choices choices;  // with what was derived
  std::vector<std::string> derived;
  double seconds = 0;
  // Where nothing fits.
  std::string binding;  // the constraint, with its numbers
  std::vector<Lift> lifts;
};

int default_batch(const model::Model& model, const cluster::Cluster& cluster);

PlanAnswer plan(const PlanRequest& request, const ProgressSink& progress = {});

// The plan as a file holds it.
plan::Plan to_plan(const ResolvedPlan& plan);

}  // namespace nereus::app
