// The keys of raw SI numbers contain their unit: memory_bytes, latency_s.
//
//   "memory" + std::string(unit_suffix(Bytes{}))    // "memory_bytes"
#pragma once

#include <string_view>

#include "base/units.hpp"

namespace nereus::cluster {

constexpr std::string_view unit_suffix(Bytes) { return "_bytes"; }
constexpr std::string_view unit_suffix(BytesPerSecond) { return "_bytes_per_s"; }
constexpr std::string_view unit_suffix(FlopsPerSecond) { return "_flop_per_s"; }
constexpr std::string_view unit_suffix(Seconds) { return "_s"; }
constexpr std::string_view unit_suffix(Watts) { return "_w"; }
constexpr std::string_view unit_suffix(UsdPerHour) { return "_usd_per_hour"; }

}  // namespace nereus::cluster
