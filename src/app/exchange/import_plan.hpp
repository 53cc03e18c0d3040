// `nereus import`: reads a user's launch script or configuration as a plan, predicts it, and
// suggests changes with their gain.
//
//   ImportAnswer a = import_plan({.path = "pretrain.sh", .cluster = {"16xdgx-h100"}});
//   a.prediction.prediction.step;     // seconds
//   a.changes[0].what;                // "tp 4, dp 8"
//
// The path is a file, or a directory that `nereus export` wrote. What the files do not state comes
// from the request; the answer lists the assumptions.
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
  std::string plan_file;  // the file to write the plan to; empty: none
};

struct ImportAnswer {
  exporting::Engine engine = exporting::Engine::kMegatron;
  std::string file;  // from which the plan was read
  plan::Plan plan;
  PredictAnswer prediction;
  std::vector<exporting::Note> assumed;
  std::vector<exporting::Note> not_counted;
  std::vector<exporting::Note> not_understood;
  std::vector<Change> changes;  // each of one or a few fields, the best first
  std::optional<Change> best;   // the best plan, if it is faster
};

// Throws Errors with all errors of the files and the request.
ImportAnswer import_plan(const ImportRequest& request);

}  // namespace nereus::app
