// What stdout or stderr can display.
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
  bool color = false;  // is a terminal, NO_COLOR is not set, TERM is not dumb
  bool utf8 = false;   // from the name of the locale
};

// Reads the terminal's size and COLUMNS, NO_COLOR, TERM, LC_ALL, LC_CTYPE, LANG.
Terminal detect_terminal(int file_descriptor);

enum class Style { kBold, kDim, kRed, kYellow, kGreen, kCyan };
std::string styled(std::string_view text, Style style, const Terminal& terminal);

// Number of columns that a text needs: one per code point, two if it is wide (CJK, emoji).
int display_width(std::string_view text);

// Cuts the text to at most `width` columns, with an ellipsis if something was cut.
std::string truncated(std::string_view text, int width, const Terminal& terminal);

// Breaks the text at spaces into lines of at most `width` columns. Longer words are split.
std::string wrapped(std::string_view text, int width, int indent = 0);

// A share of 0..1 as a bar of at most `width` columns. With UTF-8, the bar has a resolution of 1/8
// column.
std::string bar(double share, int width, const Terminal& terminal);

}  // namespace nereus::api
