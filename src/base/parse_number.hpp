// Parses a text that is a number from its first to its last character, like std::from_chars: no
// blanks, no plus sign, a decimal point in any locale.
//
//   parse_number<int>("12");        // 12
//   parse_number<double>("1e3 ");   // empty
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "base/decimal.hpp"

namespace nereus {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const last = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<Number>)
    read = read_decimal(text.data(), last, value);
  else
    read = std::from_chars(text.data(), last, value);
  if (read.ec != std::errc() || read.ptr != last) return std::nullopt;
  return value;
}

}  // namespace nereus
