// What steps would take with something changed, as a table, JSON, a picture and a page.
#pragma once

#include <string>
#include <vector>

#include "api/form/report.hpp"
#include "measure/what_if.hpp"

namespace nereus::api {

// One measured run and what was asked about it.
struct WhatIf {
  std::string file;
  measure::MeasuredStep now;
  std::vector<std::vector<measure::Change>> changes;  // one after the other, then all together
  std::vector<measure::ChangedStep> steps;            // as `changes`
};

Report what_if_report(const std::vector<WhatIf>& runs);
std::string what_if_picture(const std::vector<WhatIf>& runs);  // SVG
std::string what_if_page(const std::vector<WhatIf>& runs);     // HTML

}  // namespace nereus::api
