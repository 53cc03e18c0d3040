// Text in pictures and pages: escaping, and estimates of its width without access to fonts.
//
// Widths are those of DejaVu Sans, in hundredths of the font size (from its advance widths). This
// font is wider than other sans-serif fonts of browsers, so text that fits by this estimate fits
// there too. Bold text is assumed to be 1.12 times as wide.
//
//   escaped("a < b");                         // "a &lt; b"
//   text_width("tp 8", 12);                   // pixels
//   shortened("a very long name", 60, 12);    // "a very…"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nereus::chart {

// Escapes text and attributes of XML and HTML. Bytes that are not UTF-8, and characters that XML
// does not allow, become U+FFFD; line breaks and tabs become a space.
std::string escaped(std::string_view text);

double text_width(std::string_view text, double font_size, bool bold = false);

// The text; if it is wider than that many pixels, its beginning with "…".
std::string shortened(std::string_view text, double width, double font_size, bool bold = false);

// Lines no wider than that many pixels, broken at spaces; a word wider than a line is shortened.
std::vector<std::string> wrapped(std::string_view text, double width, double font_size,
                                 bool bold = false);

// Converts a name to an id: letters, digits and hyphens, beginning with a letter. "chart" if
// nothing is left.
std::string id_of(std::string_view name);

}  // namespace nereus::chart
