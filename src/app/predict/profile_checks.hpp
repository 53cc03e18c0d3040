// Checks that a measured profile is for these machines and this software. Measurements on another
// device, or with another library, are rejected unless they are forced.
//
//   use_profiles(...) calls check_profiles(profiles, cluster, force);      // throws Errors
//
// Codes:
//   profile.other-device   this machine's device is not the one that was measured
//   profile.other-library  two profiles of one device come from different libraries; or in `train`,
//                          the worker's library is not the profile's
// Forced use is reported in a note. A forced profile of a device that the cluster does not have is
// used for the first device of the cluster.
#pragma once

#include <string>
#include <vector>

#include "app/predict/requests.hpp"
#include "base/error.hpp"
#include "cluster/cluster.hpp"
#include "cost/measured.hpp"

namespace nereus::app {

// The device of the cluster that a profile means by that name; nullptr if there is none.
const cluster::Device* device_named(const cluster::Cluster& cluster, const std::string& name);

// Throws Errors; returns notes about forced use. Changes device names to those of the cluster.
std::vector<std::string> check_profiles(std::vector<cost::NamedProfile>& profiles,
                                        const cluster::Cluster& cluster, bool force);

// Checks that the profiles were measured with the worker's library.
void check_library(const CalibrationRequest& calibration, const std::string& library,
                   ErrorList& errors);

}  // namespace nereus::app
