#include "chart/text.hpp"

#include <array>
#include <cstdint>

#include "base/utf8.hpp"

namespace nereus::chart {

namespace {

// ' ' to '~'.
constexpr std::array<std::uint8_t, 95> kWidths = {
    32, 41, 46, 84, 64, 96, 78, 28, 40,  40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79,
    61, 79, 70, 64, 62, 74, 69, 99, 69,  62, 69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64,
    64, 28, 28, 58, 28, 98, 64, 62, 64,  64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84};
constexpr std::string_view kEllipsis = "\u2026";
constexpr std::string_view kReplacement = "\uFFFD";
constexpr double kBold = 1.12;

// A byte that starts no character is one of its own.
struct Character {
  std::uint32_t code = 0;
  std::size_t size = 1;  // bytes
  bool valid = false;
};

Character first_character(std::string_view text) {
  const Utf8Character found = decode_utf8(text);
  return found.length == 0 ? Character{} : Character{found.code, found.length, true};
}

// XML 1.0, production 2; it allows 0x7F to 0x9F, but they are invisible.
bool allowed(const Character& c) {
  return c.valid && c.code >= 0x20 && !(c.code >= 0x7F && c.code < 0xA0) && c.code != 0xFFFE &&
         c.code != 0xFFFF;
}

double width_of(const Character& c) {
  if (c.code >= 0x20 && c.code < 0x7F) return kWidths[c.code - 0x20] / 100.0;
  if (c.code >= 0x300 && c.code < 0x370) return 0;  // combining
  if (c.code < 0x250) return 0.84;                  // Latin, ×
  return 1.08;                                      // Cyrillic, Greek, Han, arrows
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.code == '<')
      out += "&lt;";
    else if (c.code == '>')
      out += "&gt;";
    else if (c.code == '&')
      out += "&amp;";
    else if (c.code == '"')
      out += "&quot;";
    else if (c.code == '\n' || c.code == '\t' || c.code == '\r')
      out += ' ';
    else if (allowed(c))
      out += text.substr(0, c.size);
    else
      out += kReplacement;
    text.remove_prefix(c.size);
  }
  return out;
}

double text_width(std::string_view text, double font_size, bool bold) {
  double width = 0;
  while (!text.empty()) {
    const Character c = first_character(text);
    width += width_of(c);
    text.remove_prefix(c.size);
  }
  return width * font_size * (bold ? kBold : 1);
}

std::string shortened(std::string_view text, double width, double font_size, bool bold) {
  if (text_width(text, font_size, bold) <= width) return std::string(text);
  const double room = width - text_width(kEllipsis, font_size, bold);
  double used = 0;
  std::size_t kept = 0;
  while (kept < text.size()) {
    const Character c = first_character(text.substr(kept));
    used += width_of(c) * font_size * (bold ? kBold : 1);
    if (used > room) break;
    kept += c.size;
  }
  while (kept > 0 && text[kept - 1] == ' ') --kept;
  return std::string(text.substr(0, kept)) + std::string(kEllipsis);
}

std::vector<std::string> wrapped(std::string_view text, double width, double font_size, bool bold) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::string longer = line.empty() ? std::string(word) : line + " " + std::string(word);
    if (!line.empty() && text_width(longer, font_size, bold) > width) {
      lines.push_back(std::move(line));
      line = shortened(word, width, font_size, bold);
    } else {
      line = line.empty() ? shortened(word, width, font_size, bold) : longer;
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string id_of(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::string id;
  for (const char c : name) {
    if (letter(c) || (!id.empty() && c >= '0' && c <= '9'))
      id += c;
    else if (!id.empty() && id.back() != '-')
      id += '-';
  }
  while (!id.empty() && id.back() == '-') id.pop_back();
  return id.empty() ? "chart" : id;
}

}  // namespace nereus::chart
