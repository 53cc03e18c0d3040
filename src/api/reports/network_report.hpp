// Reports of `validate --collectives` and `--iterations`.
#pragma once

#include "api/form/report.hpp"
#include "app/validate/validate_network.hpp"

namespace nereus::api {

// `rows` adds every row. As CSV (`rows_only`), the rows replace the summary.
Report network_report(const app::ValidateNetworkAnswer& answer, bool rows, bool rows_only);

}  // namespace nereus::api
