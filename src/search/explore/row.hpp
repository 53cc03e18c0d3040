// Results as bytes, to send them from the rank that computed them to the rank that stores them.
//
//   std::string bytes = encode(results);
//   decode(bytes) == results;                  // bit for bit
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "search/explore/point.hpp"

namespace nereus::explore {

std::string encode(const std::vector<PointResult>& results);
// Ranks run the same program, so malformed input is a bug.
std::vector<PointResult> decode(std::string_view bytes);

// Encodes one plan only.
std::string encode(const plan::Degrees& degrees);
plan::Degrees decode_degrees(std::string_view bytes);

}  // namespace nereus::explore
