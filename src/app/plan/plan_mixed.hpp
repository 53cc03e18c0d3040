// `nereus plan` on a cluster of several kinds of node. Inside app/ only.
#pragma once

#include "app/plan/plan_verb.hpp"
#include "search/mixed/mixed_search.hpp"

namespace nereus::app {

inline constexpr int kMostMixedDevices = 1 << 14;

bool all_have(const cluster::Cluster& cluster, cluster::Precision precision);

// The choices as they were given, with a global batch: derived where there is none; more samples
// than a plan may hold are an error.
void take_choices(const PlanRequest& request, PlanAnswer& answer);
// What a mixed search is asked for, but for plans that are known and who listens.
mixed::MixedOptions mixed_options(const search::Choices& choices,
                                  const search::SearchOptions& given);
// Fills `answer`, whose inputs are loaded.
void plan_mixed(const PlanRequest& request, PlanAnswer& answer, const ProgressSink& progress);

}  // namespace nereus::app
