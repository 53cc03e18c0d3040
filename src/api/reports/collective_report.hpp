// `nereus simulate` of one collective, and of a plan in ASTRA-sim's view: options and results.
//
//   add_collective_options(command, collective);
//   if (const auto report = network_simulation(plan, collective, format)) caller.answer(*report, ...);
#pragma once

#include <optional>

#include "api/form/command.hpp"
#include "api/form/report.hpp"
#include "app/predict/predict_plan.hpp"
#include "app/simulate/simulate_collective.hpp"

namespace nereus::api {

void add_collective_options(Command& command, app::SimulateCollectiveRequest& request);

// Nothing where the call is about a plan as we play it. `plan` has what predict takes, with the
// --cluster of both.
std::optional<Report> network_simulation(const app::PredictRequest& plan,
                                         app::SimulateCollectiveRequest request, Format format);

}  // namespace nereus::api
