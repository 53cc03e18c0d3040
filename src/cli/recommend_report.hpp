// The answer of `recommend` as tables, JSON (`options[]`, `front[]`) and a picture of dollars
// against hours.
#pragma once

#include <string>

#include "app/recommend.hpp"
#include "cli/report.hpp"

namespace nereus::cli {

Report recommend_report(const app::RecommendAnswer& answer, const app::RecommendRequest& request);
std::string recommend_picture(const app::RecommendAnswer& answer);

}  // namespace nereus::cli
