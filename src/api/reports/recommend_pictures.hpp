// Pictures of `recommend`: dollars against hours, and how the hours of each offer are spent.
//
// A bar is a whole job. Its hours are the number of steps times the predicted parts of a step, plus
// the time spent waiting for samples, the time lost when spot machines are taken away, and the
// start-up.
#pragma once

#include <string>

#include "app/recommend/recommend.hpp"

namespace nereus::api {

std::string recommend_scatter(const app::RecommendAnswer& answer);  // SVG
// The first `top` options; if there are none, the option that is nearest to the limits.
std::string recommend_bars(const app::RecommendAnswer& answer,
                           const app::RecommendRequest& request);  // SVG
std::string recommend_page(const app::RecommendAnswer& answer,
                           const app::RecommendRequest& request);  // HTML

}  // namespace nereus::api
