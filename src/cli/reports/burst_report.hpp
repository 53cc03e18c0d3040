// `nereus plan --burst` as a report.
#pragma once

#include "app/plan/plan_burst.hpp"
#include "cli/text/report.hpp"

namespace nereus::cli {

Report burst_report(const app::BurstAnswer& answer);

}  // namespace nereus::cli
