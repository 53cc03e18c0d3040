// Report of `nereus simulate`: a summary, every pipeline rank with a drawing, the critical path,
// and quantiles if durations vary.
#pragma once

#include <string>

#include "api/form/report.hpp"
#include "api/text/terminal.hpp"
#include "app/simulate/simulate_plan.hpp"

namespace nereus::api {

// With `all_columns`, columns that are 0 for every rank are included too (for machine-readable
// formats).
Report simulation_report(const app::SimulateAnswer& answer, const Terminal& out, bool all_columns);

}  // namespace nereus::api
