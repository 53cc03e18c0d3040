// `nereus plan` on a cluster with several kinds of node. Only for use inside app/.
#pragma once

#include "app/plan/plan_verb.hpp"
#include "search/mixed/mixed_search.hpp"

namespace nereus::app {

inline constexpr int kMostMixedDevices = 1 << 14;

bool all_have(const cluster::Cluster& cluster, cluster::Precision precision);

// Copies the choices of the request to the answer, with a derived global batch if none is given.
// More samples than a plan may hold are an error.
void take_choices(const PlanRequest& request, PlanAnswer& answer);
// The options of a mixed search, except known plans and progress.
mixed::MixedOptions mixed_options(const search::Choices& choices,
                                  const search::SearchOptions& given);
// Fills `answer`, whose inputs must be loaded.
void plan_mixed(const PlanRequest& request, PlanAnswer& answer, const ProgressSink& progress);

}  // namespace nereus::app
