// What `validate --collectives` and `--iterations` show.
#pragma once

#include "api/form/report.hpp"
#include "app/validate/validate_network.hpp"

namespace nereus::api {

// `rows` adds every row; as CSV (`rows_only`) the rows take the place of the summary.
Report network_report(const app::ValidateNetworkAnswer& answer, bool rows, bool rows_only);

}  // namespace nereus::api
