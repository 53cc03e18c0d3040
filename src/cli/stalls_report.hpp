// What a step waits for, as a table, JSON and a picture.
#pragma once

#include <string>

#include "app/measure_stalls.hpp"
#include "cli/report.hpp"

namespace nereus::cli {

Report stalls_report(const app::StallAnswer& answer);
std::string stalls_picture(const app::StallAnswer& answer);  // SVG

}  // namespace nereus::cli
