// What `plan --spot` shows.
#pragma once

#include "app/plan_spot.hpp"
#include "cli/report.hpp"

namespace nereus::cli {

Report spot_report(const app::SpotAnswer& answer);

}  // namespace nereus::cli
