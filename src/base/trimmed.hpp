// A text without leading and trailing blanks: spaces, tabs, and the carriage return of a Windows
// file. The result is always a part of the text, so that its position is known; it is the end of
// the text if all of it is blank.
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
