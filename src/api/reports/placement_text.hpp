// An irregular plan for readers: a short text about how the plan computes, and a table of what each
// rank does.
#pragma once

#include <string>

#include "api/form/report.hpp"
#include "cluster/cluster.hpp"
#include "plan/placement.hpp"

namespace nereus::api {

// "ZeRO-3, full recompute, layer by layer".
std::string manner_text(const plan::Placement& placement);
// Number of devices that neither compute nor store.
int num_idle(const plan::Placement& placement, const cluster::Cluster& cluster);
// One row per set of devices that do the same: layers, samples, micro-batch, share of the state.
Table placement_table(const plan::Placement& placement, const cluster::Cluster& cluster);

}  // namespace nereus::api
