#include "timeline/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nereus::timeline {

namespace {

constexpr double kLeft = 90;
constexpr double kWidth = 1100;
constexpr double kRow = 24;
constexpr double kTop = 40;
constexpr std::array<const char*, kNumSliceKinds> kColours = {
    "#4c8bf5", "#e8833a", "#e8833a", "#3aa76d", "#9aa0a6", "#b06ab3", "#c9b037", "#9aa0a6"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string svg_picture(const Timeline& timeline, const std::string& title) {
  const double end = std::max<double>(1, static_cast<double>(timeline.end()));
  const double scale = kWidth / end;
  const double rows = static_cast<double>(timeline.lanes.size());
  const double height = kTop + rows * kRow + 50;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<style>text{{fill:#202124}}rect.back{{fill:#fff}}rect.lane{{fill:#f1f3f4}}"
      "@media(prefers-color-scheme:dark){{text{{fill:#e8eaed}}rect.back{{fill:#202124}}"
      "rect.lane{{fill:#2d2f31}}}}text.on{{fill:#fff}}</style>\n"
      "<rect class=\"back\" width=\"{0}\" height=\"{1}\"/>\n"
      "<text x=\"{2}\" y=\"22\" font-size=\"14\">{3}</text>\n",
      kLeft + kWidth + 20, height, kLeft, escaped(title));
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    const double y = kTop + static_cast<double>(i) * kRow;
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>"
        "<rect class=\"lane\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
        kLeft - 8, y + 15, escaped(timeline.lanes[i].process_name), kLeft, y + 1, kWidth, kRow - 2);
  }
  std::array<bool, kNumSliceKinds> used{};
  for (const Slice& slice : timeline.slices) {
    used[static_cast<std::size_t>(slice.kind)] = true;
    const double x = kLeft + static_cast<double>(slice.start) * scale;
    const double width = static_cast<double>(slice.end - slice.start) * scale;
    const double y = kTop + slice.lane * kRow;
    text += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\"/>", x,
        y + 2, std::max(0.2, width - 0.4), kRow - 4,
        kColours[static_cast<std::size_t>(slice.kind)]);
    if (width > 12 && slice.micro_batch >= 0)
      text += fmt::format(
          "<text class=\"on\" x=\"{:.2f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
          x + width / 2, y + 16, slice.micro_batch);
    text += "\n";
  }
  double x = kLeft;
  for (int kind = 0; kind < kNumSliceKinds; ++kind) {
    if (!used[static_cast<std::size_t>(kind)]) continue;
    text += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        x, height - 30, kColours[static_cast<std::size_t>(kind)], x + 18, height - 20,
        to_string(static_cast<SliceKind>(kind)));
    x += 130;
  }
  return text + "</svg>\n";
}

}  // namespace nereus::timeline
