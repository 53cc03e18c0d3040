// Text in pictures and pages: escaping, and how wide it will be where no font can be asked.
//
// Widths are those of DejaVu Sans, in hundredths of the font size (from its advance widths); it is
// wider than the other sans-serif fonts that browsers take, so what fits by this estimate fits
// there too. Bold text is taken as 1.12 times as wide.
//
//   escaped("a < b");                         // "a &lt; b"
//   text_width("tp 8", 12);                   // pixels
//   shortened("a very long name", 60, 12);    // "a very…"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nereus::chart {

// For text and attributes of XML and HTML. Bytes that are not UTF-8 and characters that XML does
// not allow become U+FFFD, line breaks and tabs a space.
std::string escaped(std::string_view text);

double text_width(std::string_view text, double font_size, bool bold = false);

// The text, or its beginning with "…" where it is wider than so many pixels.
std::string shortened(std::string_view text, double width, double font_size, bool bold = false);

// Lines no wider than so many pixels, broken at spaces; a word wider than a line is shortened.
std::vector<std::string> wrapped(std::string_view text, double width, double font_size,
                                 bool bold = false);

// The names as ids: letters, digits and hyphens, beginning with a letter. "chart" where none is
// left.
std::string id_of(std::string_view name);

}  // namespace nereus::chart
