// `nereus plan --spot`: pipelines for any number of machines, ranked by a play with jitter
// (search/elastic), beside what Varuna's rule would choose.
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
  std::string jitter, link_jitter;  // as simulate/pipeline/jitter.hpp writes them; empty: none
  bool for_file = false;            // only plans that a file can hold: 1F1B
};

struct SpotAnswer {
  Inputs inputs;
  int global_batch = 0;
  elastic::SpotResult result;
  std::optional<elastic::SpotPlan> rule;  // Varuna's
  plan::Plan best;                        // as a file holds it, where asked for
  double seconds = 0;                     // that planning took, without the rule
};

// Of `request` model, cluster, calibration, sequence, precision and global batch are taken; what
// else is chosen there is refused.
SpotAnswer plan_spot(const PlanRequest& request, const SpotOptions& options);

}  // namespace nereus::app
