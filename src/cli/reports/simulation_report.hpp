// What `nereus simulate` prints of a played step: a summary, every pipeline rank with a drawing,
// the critical path, and quantiles where durations vary.
#pragma once

#include <string>

#include "app/simulate/simulate_plan.hpp"
#include "cli/text/report.hpp"
#include "cli/text/terminal.hpp"

namespace nereus::cli {

// `all_columns`: also shares that no rank has any of, for machines.
Report simulation_report(const app::SimulateAnswer& answer, const Terminal& out, bool all_columns);

}  // namespace nereus::cli
