// What the other end of stdout or stderr can show.
//
//   Terminal out = detect_terminal(STDOUT_FILENO);
//   if (out.color) ...
#pragma once

#include <string>
#include <string_view>

namespace nereus::api {

struct Terminal {
  int width = 0;  // columns; 0 = no limit (a file or a pipe)
  bool tty = false;
  bool color = false;  // a terminal, NO_COLOR not set, TERM not dumb
  bool utf8 = false;   // by the locale's name
};

// Reads the terminal's size and COLUMNS, NO_COLOR, TERM, LC_ALL, LC_CTYPE, LANG.
Terminal detect_terminal(int file_descriptor);

enum class Style { kBold, kDim, kRed, kYellow, kGreen, kCyan };
std::string styled(std::string_view text, Style style, const Terminal& terminal);

// Columns a text takes: code points, of which wide ones (CJK, emoji) count twice.
int display_width(std::string_view text);

// At most `width` columns, with an ellipsis where something was cut.
std::string truncated(std::string_view text, int width, const Terminal& terminal);

// Broken at spaces into lines of at most `width` columns; words that are longer are broken hard.
std::string wrapped(std::string_view text, int width, int indent = 0);

// A share of 0..1 as a bar of at most `width` columns, in eighths of a column where UTF-8 is at
// hand.
std::string bar(double share, int width, const Terminal& terminal);

}  // namespace nereus::api
