// Pictures of `recommend`: dollars against hours, and where the hours of each offer go.
//
// A bar is a whole job: its hours are the steps times what the plan's prediction says of a step's
// parts, what the step waits for samples beyond that, what spot machines lose, and the start.
#pragma once

#include <string>

#include "app/recommend/recommend.hpp"

namespace nereus::api {

std::string recommend_scatter(const app::RecommendAnswer& answer);  // SVG
// The first `top` options, or the nearest where there is none.
std::string recommend_bars(const app::RecommendAnswer& answer,
                           const app::RecommendRequest& request);  // SVG
std::string recommend_page(const app::RecommendAnswer& answer,
                           const app::RecommendRequest& request);  // HTML

}  // namespace nereus::api
