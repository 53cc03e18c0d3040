// A text that is a number from its first character to its last, as std::from_chars reads it: no
// blanks, no plus, a point whatever the locale.
//
//   parse_number<int>("12");        // 12
//   parse_number<double>("1e3 ");   // nothing
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace nereus {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace nereus
