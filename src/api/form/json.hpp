// JSON whose members keep the order in which they were written.
#pragma once

#include <nlohmann/json.hpp>

namespace nereus::api {

using Json = nlohmann::ordered_json;

}  // namespace nereus::api
