// A study's answer as one JSON object: raw SI numbers, null where nothing is known. docs/explore.md
// has every field.
#pragma once

#include <string>

#include "app/explore/explore.hpp"

namespace nereus::api {

std::string explore_json(const app::ExploreAnswer& answer);

}  // namespace nereus::api
