// Report of `nereus explore`.
#pragma once

#include "api/form/report.hpp"
#include "app/explore/explore.hpp"

namespace nereus::api {

Report explore_report(const app::ExploreAnswer& answer);

// Notes on what a reader might not expect in the figures: different software for different
// clusters, resources without a price, shapes that cannot be built.
std::vector<std::string> study_notes(const explore::Study& study);

}  // namespace nereus::api
