// `nereus import`: a user's launch script or configuration as a plan, what it costs, and what to
// change for how much gain.
//
//   ImportAnswer a = import_plan({.path = "pretrain.sh", .cluster = {"16xdgx-h100"}});
//   a.prediction.prediction.step;     // seconds
//   a.changes[0].what;                // "tp 4, dp 8"
//
// A path is a file, or a directory that `nereus export` wrote. What the files do not say comes from
// the request; what is assumed is in the answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/exchange/changes.hpp"
#include "app/predict/predict_plan.hpp"
#include "export/bundle.hpp"
#include "plan/placement.hpp"

namespace nereus::app {

struct ImportRequest {
  std::string path;
  ModelRequest model;
  ClusterRequest cluster;
  CalibrationRequest calibration;
  std::string plan_file;  // where the plan is written; empty: nowhere
};

struct ImportAnswer {
  exporting::Engine engine = exporting::Engine::kMegatron;
  std::string file;  // the one that decided
  plan::Plan plan;
  PredictAnswer prediction;
  std::vector<exporting::Note> assumed;
  std::vector<exporting::Note> not_counted;
  std::vector<exporting::Note> not_understood;
  std::vector<Change> changes;  // single ones, the best first
  std::optional<Change> best;   // the best of all, where it is faster
};

// Throws Errors with all that is wrong with the files and the request.
ImportAnswer import_plan(const ImportRequest& request);

}  // namespace nereus::app
