// `nereus plan --burst` as a report.
#pragma once

#include "api/form/report.hpp"
#include "app/plan/plan_burst.hpp"

namespace nereus::api {

Report burst_report(const app::BurstAnswer& answer);

}  // namespace nereus::api
