// What `nereus explore` shows of a study.
#pragma once

#include "app/explore.hpp"
#include "cli/report.hpp"

namespace nereus::cli {

Report explore_report(const app::ExploreAnswer& answer);

}  // namespace nereus::cli
