#include "api/text/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "base/utf8.hpp"

namespace nereus::api {

namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!is_set(name)) continue;
    std::string value = std::getenv(name);
    std::transform(value.begin(), value.end(), value.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

// Decodes the code point at `at` and moves past it; a broken byte counts as one column.
std::uint32_t next_code_point(std::string_view text, size_t& at) {
  const Utf8Character found = decode_utf8(text.substr(at));
  at += std::max<size_t>(found.length, 1);
  return found.code;
}

int columns_of(std::uint32_t point) {
  if (point >= 0x300 && point <= 0x36F) return 0;  // combining marks
  const bool wide = (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
                    (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
                    (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) ||
                    (point >= 0x1F300 && point <= 0x1FAFF);
  return wide ? 2 : 1;
}

// Bytes of the longest prefix that needs at most `width` columns.
size_t prefix_bytes(std::string_view text, int width) {
  size_t at = 0;
  while (at < text.size()) {
    size_t next = at;
    width -= columns_of(next_code_point(text, next));
    if (width < 0) break;
    at = next;
  }
  return at;
}

}  // namespace

Terminal detect_terminal(int file_descriptor) {
  Terminal terminal;
  terminal.tty = isatty(file_descriptor) == 1;
  terminal.utf8 = locale_is_utf8();
  const char* term = std::getenv("TERM");
  terminal.color =
      terminal.tty && !is_set("NO_COLOR") && (term == nullptr || std::string_view(term) != "dumb");
  if (is_set("COLUMNS")) {
    const int columns = std::atoi(std::getenv("COLUMNS"));
    if (columns > 0) terminal.width = std::max(columns, 20);
  } else if (winsize size{}; terminal.tty && ioctl(file_descriptor, TIOCGWINSZ, &size) == 0) {
    terminal.width = size.ws_col > 0 ? std::max<int>(size.ws_col, 20) : 80;
  }
  return terminal;
}

std::string styled(std::string_view text, Style style, const Terminal& terminal) {
  if (!terminal.color) return std::string(text);
  static constexpr const char* kCodes[] = {"1", "2", "31", "33", "32", "36"};
  return std::string("\033[") + kCodes[static_cast<int>(style)] + "m" + std::string(text) +
         "\033[0m";
}

int display_width(std::string_view text) {
  int width = 0;
  for (size_t at = 0; at < text.size();) width += columns_of(next_code_point(text, at));
  return width;
}

std::string truncated(std::string_view text, int width, const Terminal& terminal) {
  if (display_width(text) <= width) return std::string(text);
  const std::string_view ellipsis = terminal.utf8 ? "…" : "~";
  return std::string(text.substr(0, prefix_bytes(text, width - 1))) + std::string(ellipsis);
}

std::string wrapped(std::string_view text, int width, int indent) {
  std::string out;
  int column = 0;
  const auto break_line = [&] {
    out += '\n';
    out.append(static_cast<size_t>(indent), ' ');
    column = 0;
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    std::string_view word = text.substr(0, end);
    const int length = display_width(word);
    if (column > 0 && column + 1 + length > width) {
      break_line();
    } else if (column > 0 && length > 0) {
      out += ' ';
      ++column;
    }
    while (display_width(word) > width) {
      const size_t bytes = std::max<size_t>(prefix_bytes(word, width), 1);
      out += word.substr(0, bytes);
      word.remove_prefix(bytes);
      break_line();
    }
    out += word;
    column += display_width(word);
    if (end < text.size() && text[end] == '\n') break_line();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string bar(double share, int width, const Terminal& terminal) {
  if (!(share > 0)) return "";
  const double columns = std::min(share, 1.0) * width;
  if (!terminal.utf8) {
    return std::string(static_cast<size_t>(std::max(1.0, std::round(columns))), '#');
  }
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = std::max(1, static_cast<int>(std::lround(columns * 8)));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[eighths % 8];
}

}  // namespace nereus::api
