// The answer of `recommend` as tables and JSON (`options[]`, `front[]`).
#pragma once

#include <string>

#include "api/form/report.hpp"
#include "app/recommend/recommend.hpp"

namespace nereus::api {

Report recommend_report(const app::RecommendAnswer& answer, const app::RecommendRequest& request);
std::string machines_text(const app::RecommendOption& option);  // "8xp4d.24xlarge spot"

}  // namespace nereus::api
