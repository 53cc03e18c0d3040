// What `nereus simulate` prints of a played step: a summary, every pipeline rank with a drawing,
// the critical path, and quantiles where durations vary.
#pragma once

#include <string>

#include "api/form/report.hpp"
#include "api/text/terminal.hpp"
#include "app/simulate/simulate_plan.hpp"

namespace nereus::api {

// `all_columns`: also shares that no rank has any of, for machines.
Report simulation_report(const app::SimulateAnswer& answer, const Terminal& out, bool all_columns);

}  // namespace nereus::api
