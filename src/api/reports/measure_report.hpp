// Report of `nereus measure`: tables about the machine for people, the profile as JSON.
#pragma once

#include "api/form/report.hpp"
#include "app/measure/measure_machine.hpp"

namespace nereus::api {

Report measure_report(const app::MeasureAnswer& answer);
Report comparison_report(const measure::Comparison& comparison, const std::string& first,
                         const std::string& second);

}  // namespace nereus::api
