// `--profile FILE`: uses measured layers in predictions, and reports which of a plan's layers are
// measured.
//
//   use_profiles({.profiles = {"a100.json"}}, model, cluster, basis);    // throws Errors
//   for (const LayerSource& s : layer_sources(plan)) ...                 // block on A100: measured
//
// Files are profiles of Nereus, or any form that `nereus import` reads. Sailor's and Cephalo's
// profiles need a file of sizes: it is searched in their folder and the three folders above.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/predict/predict_plan.hpp"
#include "cost/measured.hpp"
#include "profile/import_file.hpp"

namespace nereus::app {

// Reads the files and, if none of them has the sizes they need, the nearest file that does.
std::vector<profile::ProfileFile> read_profile_files(const std::vector<std::string>& paths);

// Matches the profiles with the model's layers and the cluster's devices, and fits their
// collectives (cost/measured_network.hpp). Does nothing without profiles. Throws Errors if they are
// for other machines (app/predict/profile_checks.hpp).
void use_profiles(const CalibrationRequest& calibration, const model::Model& model,
                  const cluster::Cluster& cluster, cost::Basis& basis);

// The precision in which most devices were measured; if several have equally many, the first of
// bf16, fp16, fp32. Empty without profiles.
std::optional<cluster::Precision> measured_precision(const cost::Basis& basis);
// Throws if there are profiles, but none in that precision.
void check_precision(const cost::Basis& basis, cluster::Precision precision);

// One entry per kind of layer, device, tp and micro-batch of the plan; empty without profiles.
std::vector<LayerSource> layer_sources(const ResolvedPlan& plan);

}  // namespace nereus::app
