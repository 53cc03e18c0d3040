// A study's answer as one JSON object: raw SI numbers, null for unknown values. docs/explore.md
// lists every field.
#pragma once

#include <string>

#include "app/explore/explore.hpp"

namespace nereus::api {

std::string explore_json(const app::ExploreAnswer& answer);

}  // namespace nereus::api
