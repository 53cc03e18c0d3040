// Whether a measured profile is one of these machines and this software. What was measured on
// another device or by another library tells nothing of them, and is refused unless it is forced.
//
//   use_profiles(...) calls check_profiles(profiles, cluster, force);      // throws Errors
//
// Codes
//   profile.other-device   this machine's device is not the one that was measured
//   profile.other-library  two profiles of one device, by different libraries; or in `train` the
//                          worker's library is not the profile's
// What is forced becomes a note, and a profile of a device that the cluster does not have then
// stands for the cluster's first.
#pragma once

#include <string>
#include <vector>

#include "app/predict/requests.hpp"
#include "base/error.hpp"
#include "cluster/cluster.hpp"
#include "cost/measured.hpp"

namespace nereus::app {

// The device of the cluster that a profile means by that name; nullptr where it has none such.
const cluster::Device* device_named(const cluster::Cluster& cluster, const std::string& name);

// Throws Errors; gives back notes of what was forced. Names of devices become the cluster's.
std::vector<std::string> check_profiles(std::vector<cost::NamedProfile>& profiles,
                                        const cluster::Cluster& cluster, bool force);

// Whether the profiles were measured by the library that the worker has.
void check_library(const CalibrationRequest& calibration, const std::string& library,
                   ErrorList& errors);

}  // namespace nereus::app
