// A text without the blanks around it: spaces, tabs, and the carriage return of a file from
// Windows. Always a part of that text, so that its place can be told; its end where all is blank.
//
//   trimmed(" 80 GiB\r");   // "80 GiB"
#pragma once

#include <string_view>

namespace nereus {

inline std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace nereus
