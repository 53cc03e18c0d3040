// What `validate --pipelines` shows.
#pragma once

#include "api/form/report.hpp"
#include "app/validate/validate_pipelines.hpp"

namespace nereus::api {

// `rows` adds every row; as CSV (`rows_only`) the rows take the place of the summary.
Report pipelines_report(const app::ValidatePipelinesAnswer& answer, bool rows, bool rows_only);

}  // namespace nereus::api
