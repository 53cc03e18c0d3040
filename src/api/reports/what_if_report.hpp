// How long steps would take with some changes, as a table, as JSON, as a picture, and as an HTML
// page.
#pragma once

#include <string>
#include <vector>

#include "api/form/report.hpp"
#include "measure/what_if.hpp"

namespace nereus::api {

// One measured run and the requested changes.
struct WhatIf {
  std::string file;
  measure::MeasuredStep now;
  std::vector<std::vector<measure::Change>> changes;  // each change on its own, then all together
  std::vector<measure::ChangedStep> steps;            // same order as `changes`
};

Report what_if_report(const std::vector<WhatIf>& runs);
std::string what_if_picture(const std::vector<WhatIf>& runs);  // SVG
std::string what_if_page(const std::vector<WhatIf>& runs);     // HTML

}  // namespace nereus::api
