#include "timeline/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/format.hpp"

namespace nereus::timeline {

namespace {

constexpr double kLeft = 110;
constexpr double kWidth = 1100;
constexpr double kRight = 30;
constexpr double kTop = 40;
constexpr double kAxis = 26;
constexpr double kStrip = 56;  // of one counter
constexpr double kLegendRow = 20;
constexpr double kLegendColumn = 130;
constexpr double kNarrow = 1.0 / 3;  // pixels: below it slices are drawn together
constexpr double kGap = 0.5;         // between slices wide enough to show one

constexpr std::array<const char*, kNumSliceKinds> kColours = {
    "#4c8bf5", "#e8833a", "#e8833a", "#3aa76d", "#8d6e63", "#b06ab3",
    "#c9b037", "#9aa0a6", "#f2b98c", "#a1887f", "#d0557a", "#26a69a",
    "#7e57c2", "#5c9ead", "#78909c", "#bdbdbd", "#dadce0"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

// A rectangle of the picture: one slice, or several that are too narrow to be visible separately.
struct Piece {
  double from = 0;  // pixels
  double to = 0;
  SliceKind kind = SliceKind::kOther;
  int micro_batch = -1;  // -1 where several are drawn together
};

class Picture {
 public:
  Picture(const Timeline& timeline, const SvgOptions& options)
      : timeline_(timeline),
        scale_(kWidth / std::max<double>(1, static_cast<double>(timeline.end()))) {
    const double lanes = static_cast<double>(timeline.lanes.size());
    row_ = std::clamp(640 / std::max(1.0, lanes), 12.0, 24.0);
    if (options.counters)
      for (const Counter& counter : timeline.counters)
        if (!counter.samples.empty()) strips_[counter.name].push_back(&counter);
    for (const Slice& slice : timeline.slices) used_[static_cast<std::size_t>(slice.kind)] = true;
    bottom_ = kTop + lanes * row_;
    axis_ = bottom_ + static_cast<double>(strips_.size()) * kStrip;
    const auto kinds = static_cast<double>(std::count(used_.begin(), used_.end(), true));
    const double legend = std::ceil(kinds / std::floor(kWidth / kLegendColumn)) * kLegendRow;
    height_ = axis_ + kAxis + legend + 12;
  }

  std::string draw(const std::string& title) {
    head(title);
    for (std::size_t i = 0; i < timeline_.lanes.size(); ++i) label(i);
    const auto lanes = slices_by_lane(timeline_);
    for (std::size_t i = 0; i < lanes.size(); ++i) lane(i, lanes[i]);
    marks();
    counters();
    axis();
    legend();
    return std::move(text_) + "</svg>\n";
  }

 private:
  double x_of(std::int64_t time) const { return kLeft + static_cast<double>(time) * scale_; }
  double row_top(std::size_t lane) const { return kTop + static_cast<double>(lane) * row_; }
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  void head(const std::string& title) {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{0}\" "
        "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n",
        kLeft + kWidth + kRight, height_);
    add("<style>text{{fill:#202124}}.back{{fill:#fff}}.lane{{fill:#f1f3f4}}"
        ".line{{stroke:#9aa0a6;fill:none}}.memory{{stroke:#1967d2;fill:none;opacity:.7}}");
    for (std::size_t kind = 0; kind < kNumSliceKinds; ++kind)
      if (used_[kind]) add(".k{}{{fill:{}}}", kind, kColours[kind]);
    add("@media(prefers-color-scheme:dark){{text{{fill:#e8eaed}}.back{{fill:#202124}}"
        ".lane{{fill:#2d2f31}}.memory{{stroke:#8ab4f8}}}}text.on{{fill:#fff}}</style>\n");
    add("<rect class=\"back\" width=\"{}\" height=\"{:.0f}\"/>\n", kLeft + kWidth + kRight,
        height_);
    add("<text x=\"{}\" y=\"22\" font-size=\"14\">{}</text>\n", kLeft, escaped(title));
  }

  // The process, and the stream if the process has several.
  void label(std::size_t i) {
    const Lane& lane = timeline_.lanes[i];
    const bool first = i == 0 || timeline_.lanes[i - 1].process != lane.process;
    const bool last =
        i + 1 == timeline_.lanes.size() || timeline_.lanes[i + 1].process != lane.process;
    std::string name = first ? lane.process_name : "";
    if (!(first && last)) name += (first ? " " : "") + lane.name;
    add("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\" font-size=\"{:.1f}\">{}</text>"
        "<rect class=\"lane\" x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/>\n",
        kLeft - 8, row_top(i) + row_ / 2 + 4, std::min(11.0, row_ - 2), escaped(name), kLeft,
        row_top(i) + 1, kWidth, row_ - 2);
  }

  std::vector<Piece> pieces_of(const std::vector<std::size_t>& lane) const {
    std::vector<Piece> pieces;
    std::array<double, kNumSliceKinds> together{};  // pixels of each kind in an open group
    double from = 0;
    double to = -1;  // none open
    const auto close = [&] {
      if (to < from) return;
      const auto most = std::max_element(together.begin(), together.end()) - together.begin();
      pieces.push_back({from, std::max(to, from + kNarrow), static_cast<SliceKind>(most), -1});
      together.fill(0);
      to = -1;
      from = 0;
    };
    for (const std::size_t i : lane) {
      const Slice& slice = timeline_.slices[i];
      const double begin = x_of(slice.start);
      const double end = x_of(slice.end);
      if (end - begin >= kNarrow) {
        close();
        pieces.push_back({begin, end, slice.kind, slice.micro_batch});
        continue;
      }
      if (to >= from && (begin - to >= kNarrow || end - from >= 2 * kNarrow)) close();
      if (to < from) from = begin;
      to = end;
      together[static_cast<std::size_t>(slice.kind)] += end - begin;
    }
    close();
    return pieces;
  }

  void lane(std::size_t i, const std::vector<std::size_t>& slices) {
    const std::vector<Piece> pieces = pieces_of(slices);
    std::array<std::string, kNumSliceKinds> paths;
    const double height = row_ - 4;
    for (const Piece& piece : pieces) {
      const double width = piece.to - piece.from;
      const double drawn = width > 4 * kGap ? width - kGap : width;
      fmt::format_to(std::back_inserter(paths[static_cast<std::size_t>(piece.kind)]),
                     "M{:.2f} {:.1f}h{:.2f}v{:.1f}h-{:.2f}z", piece.from, row_top(i) + 2, drawn,
                     height, drawn);
    }
    for (std::size_t kind = 0; kind < kNumSliceKinds; ++kind)
      if (!paths[kind].empty()) add("<path class=\"k{}\" d=\"{}\"/>\n", kind, paths[kind]);
    const double size = std::min(11.0, row_ - 3);
    for (const Piece& piece : pieces) {
      if (piece.micro_batch < 0) continue;
      const std::string number = fmt::format("{}", piece.micro_batch);
      if (piece.to - piece.from < 0.62 * size * static_cast<double>(number.size()) + 3) continue;
      add("<text class=\"on\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" "
          "font-size=\"{:.1f}\">{}</text>\n",
          (piece.from + piece.to) / 2, row_top(i) + row_ / 2 + size * 0.36, size, number);
    }
  }

  void marks() {
    for (const Mark& mark : timeline_.marks)
      if (mark.start > 0)
        add("<path class=\"line\" stroke-dasharray=\"4 3\" d=\"M{:.2f} {}V{:.1f}\"/>\n",
            x_of(mark.start), kTop - 4, axis_);
  }

  // A step line per process, with all processes of one counter in one plot; a line has at most
  // three points per pixel, the highest of those that coincide.
  void counters() {
    double top = bottom_;
    for (const auto& [name, counters] : strips_) {
      double most = 0;
      for (const Counter* counter : counters)
        for (const Sample& sample : counter->samples) most = std::max(most, sample.value);
      const std::string unit = counters.front()->unit;
      add("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>"
          "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
          kLeft - 8, top + 18, escaped(name), kLeft - 8, top + 32,
          escaped(unit == "bytes" ? format_bytes(Bytes{most})
                                  : fmt::format("{:g} {}", most, unit)));
      const double scale = most > 0 ? (kStrip - 12) / most : 0;
      const auto y_of = [&](double value) {
        return top + kStrip - 4 - std::max(0.0, value) * scale;
      };
      for (const Counter* counter : counters) {
        std::string path;
        double x = -1;
        double highest = 0;
        const auto point = [&] {
          path += path.empty() ? fmt::format("M{:.2f} {:.1f}", x, y_of(highest))
                               : fmt::format("H{:.2f}V{:.1f}", x, y_of(highest));
        };
        for (const Sample& sample : counter->samples) {
          const double at = x_of(sample.time);
          if (x >= 0 && at - x < kNarrow) {
            highest = std::max(highest, sample.value);
            continue;
          }
          if (x >= 0) point();
          x = at;
          highest = sample.value;
        }
        point();
        add("<path class=\"memory\" d=\"{}H{:.2f}\"/>\n", path, kLeft + kWidth);
      }
      top += kStrip;
    }
  }

  // Round times, 5 to 12 of them, in the unit that suits the whole.
  void axis() {
    const double end = static_cast<double>(std::max<std::int64_t>(1, timeline_.end()));
    double step = std::pow(10, std::floor(std::log10(end / 5)));
    for (const double factor : {5.0, 2.0})
      if (end / (step * factor) >= 5) {
        step *= factor;
        break;
      }
    constexpr std::array<std::pair<double, const char*>, 5> kUnits = {
        {{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}, {1, "ps"}}};
    const auto unit = std::find_if(kUnits.begin(), kUnits.end() - 1,
                                   [&](const auto& u) { return end >= u.first; });
    add("<path class=\"line\" d=\"M{} {:.1f}h{}\"/>\n", kLeft, axis_ + 2, kWidth);
    for (int i = 0; i * step <= end * (1 + 1e-9); ++i) {
      const double x = kLeft + i * step * scale_;
      add("<path class=\"line\" d=\"M{:.2f} {:.1f}v5\"/><text x=\"{:.2f}\" y=\"{:.1f}\" "
          "text-anchor=\"middle\">{:g} {}</text>\n",
          x, axis_ + 2, x, axis_ + 19, i * step / unit->first, unit->second);
    }
  }

  void legend() {
    double x = kLeft;
    double y = axis_ + kAxis + 6;
    for (std::size_t kind = 0; kind < kNumSliceKinds; ++kind) {
      if (!used_[kind]) continue;
      if (x + kLegendColumn > kLeft + kWidth) {
        x = kLeft;
        y += kLegendRow;
      }
      add("<rect class=\"k{}\" x=\"{:.0f}\" y=\"{:.1f}\" width=\"12\" height=\"12\"/>"
          "<text x=\"{:.0f}\" y=\"{:.1f}\">{}</text>\n",
          kind, x, y, x + 18, y + 10, to_string(static_cast<SliceKind>(kind)));
      x += kLegendColumn;
    }
  }

  const Timeline& timeline_;
  double scale_;
  double row_ = 0;
  double bottom_ = 0;
  double axis_ = 0;
  double height_ = 0;
  std::map<std::string, std::vector<const Counter*>> strips_;
  std::array<bool, kNumSliceKinds> used_{};
  std::string text_;
};

}  // namespace

std::string svg_picture(const Timeline& timeline, const std::string& title,
                        const SvgOptions& options) {
  return Picture(timeline, options).draw(title);
}

}  // namespace nereus::timeline
