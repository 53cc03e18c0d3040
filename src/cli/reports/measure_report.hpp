// What `nereus measure` prints: the machine in tables for people, the profile itself as JSON.
#pragma once

#include "app/measure/measure_machine.hpp"
#include "cli/text/report.hpp"

namespace nereus::cli {

Report measure_report(const app::MeasureAnswer& answer);
Report comparison_report(const measure::Comparison& comparison, const std::string& first,
                         const std::string& second);

}  // namespace nereus::cli
