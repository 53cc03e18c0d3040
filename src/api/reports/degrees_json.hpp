// A regular plan as JSON: every degree under its own name.
#pragma once

#include <nlohmann/json.hpp>

#include "plan/degrees.hpp"

namespace nereus::api {

nlohmann::ordered_json degrees_json(const plan::Degrees& degrees);

}  // namespace nereus::api
