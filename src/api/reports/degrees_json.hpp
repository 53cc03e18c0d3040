// A regular plan as JSON, with a member per degree.
#pragma once

#include <nlohmann/json.hpp>

#include "plan/degrees.hpp"

namespace nereus::api {

nlohmann::ordered_json degrees_json(const plan::Degrees& degrees);

}  // namespace nereus::api
