// What `nereus simulate PLAN --background OTHER` shows (app/simulate_cluster.hpp).
#pragma once

#include "app/simulate_cluster.hpp"
#include "cli/report.hpp"
#include "cli/terminal.hpp"

namespace nereus::cli {

Report cluster_report(const app::ClusterAnswer& answer, const Terminal& out);

}  // namespace nereus::cli
