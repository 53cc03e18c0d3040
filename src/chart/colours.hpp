// Colors of all pictures and of the page, in light and dark mode.
//
// The ramp has even steps of CIE lightness L*, starting near the lightness of the paper. So equal
// steps look equal, also in gray and to color-blind readers. Black or white text on every level has
// a contrast of 4.5 or more (WCAG 2.1, 1.4.3). The series have eight colors that differ by 0.06 or
// more in Oklab (Ottosson 2020), for normal vision and under full protanopia, deuteranopia and
// tritanopia (Machado et al. 2009), each with a contrast of 3 or more to the paper (WCAG 2.1,
// 1.4.11). colours_test.cpp checks all of this.
//
// The colors are CSS custom properties, so that one picture works in both modes:
//
//   theme_css("#fig1");   // "#fig1{--paper:#ffffff;...}@media screen and
//                         //  (prefers-color-scheme:dark){#fig1{--paper:#16181d;...}}"
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace nereus::chart {

inline constexpr int kNumLevels = 16;
inline constexpr int kNumSeries = 8;

struct Theme {
  std::string_view paper;
  std::string_view ink;
  std::string_view muted;  // secondary text
  std::string_view grid;
  std::string_view line;  // axes, outlines
  std::string_view accent;
  std::string_view dots;  // many points without individual meaning
  std::string_view warn;  // text about a problem
  std::array<std::string_view, kNumSeries> series;
  std::array<std::string_view, kNumLevels> ramp;  // 0 is nearest to the paper
};

extern const Theme kLight;
extern const Theme kDark;

// The text colour for a background: "#000000" or "#ffffff".
std::string_view text_on(std::string_view background);

// --paper, --ink, ..., --s0 to --s7 for everything inside `selector`; with `ramp` also --q0 to
// --q15, and their text colors --t0 to --t15.
std::string theme_css(std::string_view selector, bool ramp = false);

// Relative luminance of "#rrggbb", 0 to 1, and the contrast of two colours, 1 to 21 (WCAG 2.1).
double luminance(std::string_view colour);
double contrast(std::string_view a, std::string_view b);

}  // namespace nereus::chart
