// The best plan for every number of machines that a job may have: found once for each by the
// planner (search/regular; of one-device machines also search/elastic, whose replicas need not be
// equal), or read from a table. Inside app/ only.
//
//   PlannedRates r = plan_rates(inputs, /*most=*/32, choices);
//   r.rates.of(24).samples_per_s;
//
// A table is CSV with a header: machines,samples_per_s and, where known, uses (machines of the
// plan), stages, state_bytes (of the fullest machine), planned_samples_per_s (what the planner
// believed, by which it chooses; where rates are measured that may be another). Numbers of machines
// that are not in it have no plan of their own; a play takes the next smaller one's with the others
// spare.
#pragma once

#include <string>

#include "app/predict/predict_plan.hpp"
#include "search/regular/regular_search.hpp"
#include "simulate/job/job_play.hpp"

namespace nereus::app {

struct PlannedRates {
  simulate::JobRates rates;
  int least = 0;       // machines that some plan fits on; 0 = none does
  int plans = 0;       // that were searched
  double seconds = 0;  // that planning took
};

// Plans without ZeRO are preferred wherever one fits: then every replica holds all of a stage's
// state, and a machine that goes leaves copies behind. Where only divided state fits, the plan
// says that no copy is left.
PlannedRates plan_rates(const Inputs& inputs, int least, int most, search::Choices choices);

simulate::JobRates read_rates(const std::string& file, double samples_per_step);

}  // namespace nereus::app
