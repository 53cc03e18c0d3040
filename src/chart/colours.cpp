#include "chart/colours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace nereus::chart {

const Theme kLight = {.paper = "#ffffff",
                      .ink = "#1b1f24",
                      .muted = "#57606a",
                      .grid = "#e6e9ed",
                      .line = "#8c959f",
                      .accent = "#b3400c",
                      .dots = "#34469a",
                      .warn = "#9a2a10",
                      .series = {"#34469a", "#d9791f", "#007063", "#b0529f", "#746f0c", "#2b9be0",
                                 "#7c1528", "#8a8f97"},
                      .ramp = {"#e8f3c7", "#d2eab6", "#b9e1a9", "#9cd8a1", "#7ccf9d", "#57c69c",
                               "#2abb9f", "#03aea1", "#08a1a1", "#04939f", "#06869c", "#017a98",
                               "#066d94", "#1c608c", "#2b537e", "#31476d"}};

const Theme kDark = {.paper = "#16181d",
                     .ink = "#e6e8eb",
                     .muted = "#a0a7b0",
                     .grid = "#2a2e35",
                     .line = "#6b737e",
                     .accent = "#ffb077",
                     .dots = "#7fb2f5",
                     .warn = "#ffab91",
                     .series = {"#3f8ce8", "#ec8d24", "#64d09d", "#e09cf5", "#f2dc6a", "#bbe6fb",
                                "#c4502f", "#757b85"},
                     .ramp = {"#26304a", "#253b5c", "#20486d", "#10557b", "#016284", "#017089",
                              "#017e8f", "#058c94", "#0e9998", "#0ea89a", "#2cb599", "#58c199",
                              "#7bcc9b", "#9bd7a0", "#b8e0a9", "#d2eab7"}};

double luminance(std::string_view colour) {
  const auto channel = [&](std::size_t at) {
    int value = 0;
    std::from_chars(colour.data() + at, colour.data() + at + 2, value, 16);
    const double c = value / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

double contrast(std::string_view a, std::string_view b) {
  const double one = luminance(a) + 0.05;
  const double other = luminance(b) + 0.05;
  return std::max(one, other) / std::min(one, other);
}

std::string_view text_on(std::string_view background) {
  return contrast(background, "#000000") >= contrast(background, "#ffffff") ? "#000000" : "#ffffff";
}

std::string theme_css(std::string_view selector, bool ramp) {
  const auto properties = [&](const Theme& theme) {
    std::string css = fmt::format(
        "{}{{--paper:{};--ink:{};--muted:{};--grid:{};--line:{};--accent:{};--dots:{};--warn:{}",
        selector, theme.paper, theme.ink, theme.muted, theme.grid, theme.line, theme.accent,
        theme.dots, theme.warn);
    for (std::size_t i = 0; i < kNumSeries; ++i)
      css += fmt::format(";--s{}:{}", i, theme.series[i]);
    for (std::size_t i = 0; ramp && i < kNumLevels; ++i)
      css += fmt::format(";--q{}:{};--t{}:{}", i, theme.ramp[i], i, text_on(theme.ramp[i]));
    return css + "}";
  };
  return properties(kLight) + "\n@media screen and (prefers-color-scheme:dark){" +
         properties(kDark) + "}\n";
}

}  // namespace nereus::chart
