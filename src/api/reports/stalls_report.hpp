// Reports what a step waits for: as a table, as JSON, as stacked bars, and as an HTML page.
#pragma once

#include <string>
#include <vector>

#include "api/form/report.hpp"
#include "app/measure/measure_stalls.hpp"

namespace nereus::api {

Report stalls_report(const app::StallAnswer& answer);

// One bar of the picture.
struct StallRun {
  std::string name;
  const measure::StallReport* report = nullptr;
};
std::string stalls_picture(const std::string& title, const std::vector<StallRun>& runs);  // SVG
std::string stalls_picture(const app::StallAnswer& answer);
std::string stalls_page(const app::StallAnswer& answer);  // HTML

// Writes the pictures to the given files; an empty name means no file.
void write_stall_pictures(const app::StallAnswer& answer, const std::string& svg_file,
                          const std::string& html_file);

}  // namespace nereus::api
