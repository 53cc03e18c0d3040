// `nereus plan --spot`: pipelines for any number of machines, ranked by a simulation with jitter
// (search/elastic), compared with the plan that Varuna's rule would choose.
//
//   SpotAnswer a = plan_spot({.model = {"gpt2-xl"}, .cluster = {"37xp3.2xlarge"}}, {});
//   a.result.plans[0].seconds_per_sample();
#pragma once

#include <optional>
#include <string>

#include "app/plan/plan_verb.hpp"
#include "search/elastic/spot.hpp"

namespace nereus::app {

struct SpotOptions {
  std::string jitter, link_jitter;  // in the form of simulate/pipeline/jitter.hpp; empty: none
  bool for_file = false;            // only plans that a file can hold: 1F1B
};

struct SpotAnswer {
  Inputs inputs;
  int global_batch = 0;
  elastic::SpotResult result;
  std::optional<elastic::SpotPlan> rule;  // plan of Varuna's rule
  plan::Plan best;                        // in file form, if requested
  double seconds = 0;                     // planning time, without the rule
};

// Uses model, cluster, calibration, sequence, precision and global batch of `request`; other
// choices in it are rejected.
SpotAnswer plan_spot(const PlanRequest& request, const SpotOptions& options);

}  // namespace nereus::app
