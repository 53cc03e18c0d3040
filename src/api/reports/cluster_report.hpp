// Report of `nereus simulate PLAN --background OTHER` (app/simulate/simulate_cluster.hpp).
#pragma once

#include "api/form/report.hpp"
#include "api/text/terminal.hpp"
#include "app/simulate/simulate_cluster.hpp"

namespace nereus::api {

Report cluster_report(const app::ClusterAnswer& answer, const Terminal& out);

}  // namespace nereus::api
