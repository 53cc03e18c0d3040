// `--profile FILE`: measured layers in predictions, and which of a plan's layers they are.
//
//   use_profiles({.profiles = {"a100.json"}}, model, cluster, basis);    // throws Errors
//   for (const LayerSource& s : layer_sources(plan)) ...                 // block on A100: measured
//
// Files are profiles of Nereus, or any form that `nereus import` reads; the file of sizes that
// Sailor's and Cephalo's need is looked for in their folder and the three above.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/predict/predict_plan.hpp"
#include "cost/measured.hpp"
#include "profile/import_file.hpp"

namespace nereus::app {

// The files and, where none of them has the sizes they need, the nearest that has.
std::vector<profile::ProfileFile> read_profile_files(const std::vector<std::string>& paths);

// Matches the profiles with the model's layers and the cluster's devices, and fits their
// collectives (cost/measured_network.hpp); nothing where there are none. Throws Errors where they
// are of other machines (app/predict/profile_checks.hpp).
void use_profiles(const CalibrationRequest& calibration, const model::Model& model,
                  const cluster::Cluster& cluster, cost::Basis& basis);

// What most devices were measured in, of equals the first of bf16, fp16, fp32; none without
// profiles.
std::optional<cluster::Precision> measured_precision(const cost::Basis& basis);
// Throws where there are profiles, but none of that precision.
void check_precision(const cost::Basis& basis, cluster::Precision precision);

// Of every kind of layer, device, tp and micro-batch of the plan; none without profiles.
std::vector<LayerSource> layer_sources(const ResolvedPlan& plan);

}  // namespace nereus::app
