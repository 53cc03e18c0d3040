// What `nereus plan` found as a report: the best layouts, how much was looked at, and where nothing
// fits, why and what would help.
#pragma once

#include "api/form/report.hpp"
#include "app/plan/plan_verb.hpp"

namespace nereus::api {

Report plan_report(const app::PlanAnswer& answer, const app::PlanRequest& request, bool csv);

}  // namespace nereus::api
