// Report of a simulated job: rates and cost per policy, and how its time is spent.
#pragma once

#include <string>

#include "api/form/command.hpp"
#include "api/form/report.hpp"
#include "api/text/terminal.hpp"
#include "app/simulate/simulate_job.hpp"

namespace nereus::api {

void add_job_options(Command& command, app::JobRequest& request);
// Whether the options ask for a job simulation.
bool asks_for_job(const app::JobRequest& request);

Report job_report(const app::JobAnswer& answer, const Terminal& out);

// Machines over time, and below them one bar per policy, colored by activity.
std::string job_picture(const app::JobAnswer& answer);

}  // namespace nereus::api
