// What `nereus simulate PLAN --background OTHER` shows (app/simulate/simulate_cluster.hpp).
#pragma once

#include "app/simulate/simulate_cluster.hpp"
#include "cli/text/report.hpp"
#include "cli/text/terminal.hpp"

namespace nereus::cli {

Report cluster_report(const app::ClusterAnswer& answer, const Terminal& out);

}  // namespace nereus::cli
