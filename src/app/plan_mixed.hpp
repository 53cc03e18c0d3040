// `nereus plan` on a cluster of several kinds of node. Inside app/ only.
#pragma once

#include "app/plan.hpp"

namespace nereus::app {

// More samples than a plan may hold are an error.
void check_batch(int global_batch);
// Fills `answer`, whose inputs are loaded.
void plan_mixed(const PlanRequest& request, PlanAnswer& answer, const ProgressSink& progress);

}  // namespace nereus::app
