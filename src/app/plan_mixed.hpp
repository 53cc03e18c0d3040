// `nereus plan` on a cluster of several kinds of node. Inside app/ only.
#pragma once

#include "app/plan.hpp"

namespace nereus::app {

// The choices as they were given, with a global batch: derived where there is none; more samples
// than a plan may hold are an error.
void take_choices(const PlanRequest& request, PlanAnswer& answer);
// Fills `answer`, whose inputs are loaded.
void plan_mixed(const PlanRequest& request, PlanAnswer& answer, const ProgressSink& progress);

}  // namespace nereus::app
