// A text without the blanks around it: spaces, tabs, and the carriage return of a file from
// Windows.
//
//   trimmed(" 80 GiB\r");   // "80 GiB"
#pragma once

#include <string_view>

namespace nereus {

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace nereus
