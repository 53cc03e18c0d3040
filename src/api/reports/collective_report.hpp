// Options and report of `nereus simulate` for one collective, or for a plan in ASTRA-sim's view.
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

// Returns nothing if the request asks for our own simulation of a plan. `plan` has the options of
// predict, and the --cluster of both.
std::optional<Report> network_simulation(const app::PredictRequest& plan,
                                         app::SimulateCollectiveRequest request, Format format);

}  // namespace nereus::api
