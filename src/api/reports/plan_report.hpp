// Report of `nereus plan`: the best layouts, and how many candidates were looked at. If nothing
// fits, the report states why, and what would help.
#pragma once

#include "api/form/report.hpp"
#include "app/plan/plan_verb.hpp"

namespace nereus::api {

Report plan_report(const app::PlanAnswer& answer, const app::PlanRequest& request, bool csv);

}  // namespace nereus::api
