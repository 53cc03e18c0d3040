// The best plan for every number of machines that a job may have: from one search per machine count
// (search/regular; for one-device machines also search/elastic, whose replicas may be unequal), or
// from a table. Only for use inside app/.
//
//   PlannedRates r = plan_rates(inputs, /*most=*/32, choices);
//   r.rates.of(24).samples_per_s;
//
// A table is CSV with a header: machines,samples_per_s and, if known, uses (machines of the plan),
// stages, state_bytes (of the fullest machine), planned_samples_per_s (the planner's prediction, by
// which it chooses; may differ from a measured rate). A number of machines that is not in the table
// has no plan: a simulation then uses the plan of the next smaller number, and the other machines
// are spares.
#pragma once

#include <string>

#include "app/predict/predict_plan.hpp"
#include "search/regular/regular_search.hpp"
#include "simulate/job/job_play.hpp"

namespace nereus::app {

struct PlannedRates {
  simulate::JobRates rates;
  int least = 0;       // smallest number of machines on which a plan fits; 0 = none
  int plans = 0;       // that were searched
  double seconds = 0;  // planning time
};

// Plans without ZeRO are preferred if one fits: then every replica holds the whole state of its
// stage, so a machine that is lost leaves copies behind. If only sharded state fits, the plan is
// marked as having no copies.
PlannedRates plan_rates(const Inputs& inputs, int least, int most, search::Choices choices);

simulate::JobRates read_rates(const std::string& file, double samples_per_step);

}  // namespace nereus::app
