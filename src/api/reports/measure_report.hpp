// Report of `nereus measure`: as text, tables that describe the machine; as JSON, the profile.
// comparison_report() shows which numbers of two profiles differ; the names are their files.
#pragma once

#include "api/form/report.hpp"
#include "app/measure/measure_machine.hpp"

namespace nereus::api {

Report measure_report(const app::MeasureAnswer& answer);
Report comparison_report(const measure::Comparison& comparison, const std::string& first,
                         const std::string& second);

}  // namespace nereus::api
