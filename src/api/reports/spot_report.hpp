// Report of `plan --spot`.
#pragma once

#include "api/form/report.hpp"
#include "app/plan/plan_spot.hpp"

namespace nereus::api {

Report spot_report(const app::SpotAnswer& answer);

}  // namespace nereus::api
