// Report of `validate --pipelines`.
#pragma once

#include "api/form/report.hpp"
#include "app/validate/validate_pipelines.hpp"

namespace nereus::api {

// `rows` adds every row. As CSV (`rows_only`), the rows replace the summary.
Report pipelines_report(const app::ValidatePipelinesAnswer& answer, bool rows, bool rows_only);

}  // namespace nereus::api
