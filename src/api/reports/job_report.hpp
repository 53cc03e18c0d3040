// What a played job shows: rates and money by policy, where the time goes, when it was spent.
#pragma once

#include <string>

#include "api/form/command.hpp"
#include "api/form/report.hpp"
#include "api/text/terminal.hpp"
#include "app/simulate/simulate_job.hpp"

namespace nereus::api {

void add_job_options(Command& command, app::JobRequest& request);
// Whether the options ask for a job.
bool asks_for_job(const app::JobRequest& request);

Report job_report(const app::JobAnswer& answer, const Terminal& out);

// Machines over time, and below it a bar for each policy in the colours of what it did.
std::string job_picture(const app::JobAnswer& answer);

}  // namespace nereus::api
