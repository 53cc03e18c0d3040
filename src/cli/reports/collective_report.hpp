// `nereus simulate` of one collective, and of a plan in ASTRA-sim's view: options and results.
//
//   add_collective_options(command, collective);
//   if (const auto report = network_simulation(plan, collective, format)) emit(*report, ...);
#pragma once

#include <optional>

#include "app/predict/predict_plan.hpp"
#include "app/simulate/simulate_collective.hpp"
#include "cli/text/command.hpp"
#include "cli/text/output.hpp"

namespace nereus::cli {

void add_collective_options(Command& command, app::SimulateCollectiveRequest& request);

// Nothing where the call is about a plan as we play it. `plan` has what predict takes, with the
// --cluster of both.
std::optional<Report> network_simulation(const app::PredictRequest& plan,
                                         app::SimulateCollectiveRequest request, Format format);

}  // namespace nereus::cli
