// What `plan --spot` shows.
#pragma once

#include "app/plan/plan_spot.hpp"
#include "cli/text/report.hpp"

namespace nereus::cli {

Report spot_report(const app::SpotAnswer& answer);

}  // namespace nereus::cli
