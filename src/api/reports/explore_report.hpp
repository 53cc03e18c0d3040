// What `nereus explore` shows of a study.
#pragma once

#include "api/form/report.hpp"
#include "app/explore/explore.hpp"

namespace nereus::api {

Report explore_report(const app::ExploreAnswer& answer);

// What a reader might not expect of the figures: other software for other clusters, resources
// without a price, shapes that cannot be built.
std::vector<std::string> study_notes(const explore::Study& study);

}  // namespace nereus::api
