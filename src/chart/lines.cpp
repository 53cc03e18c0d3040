#include "chart/lines.hpp"

#include <algorithm>
#include <cmath>

#include "chart/canvas.hpp"
#include "chart/colours.hpp"
#include "chart/frame.hpp"
#include "chart/text.hpp"

namespace nereus::chart {

namespace {

constexpr double kStripRow = 12;
constexpr std::size_t kMostMarks = 60;  // per series; with more points only the line is drawn
constexpr std::size_t kMostLineTips = 2000;

// Sorted by x, only points with a position on the x axis; a category must exist.
std::vector<LinePoint> placed_points(const Lines& lines, const LineSeries& series) {
  std::vector<LinePoint> points;
  const double last = static_cast<double>(lines.categories.size()) - 1;
  for (const LinePoint& point : series.points) {
    const bool known = lines.categories.empty() ? has_place(point.x, lines.x.log)
                                                : point.x >= 0 && point.x <= last;
    if (known) points.push_back(point);
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const LinePoint& a, const LinePoint& b) { return a.x < b.x; });
  return points;
}

struct LineDrawing {
  const Lines& lines;
  std::vector<std::vector<LinePoint>> points;  // of every series
  std::vector<std::size_t> with_gaps;          // series
  std::size_t num_points = 0;

  explicit LineDrawing(const Lines& l) : lines(l) {
    for (const LineSeries& series : lines.series) {
      points.push_back(placed_points(lines, series));
      num_points += points.back().size();
      if (!std::all_of(points.back().begin(), points.back().end(),
                       [&](const LinePoint& p) { return has_place(p.y, lines.y.log); }))
        with_gaps.push_back(points.size() - 1);
    }
  }

  std::string x_text(double x) const {
    return lines.categories.empty() ? human(x, lines.x.unit)
                                    : lines.categories[static_cast<std::size_t>(x)];
  }

  void draw_series(Canvas& canvas, const Frame& frame, std::size_t s) const {
    std::string path;
    bool open = false;
    for (const LinePoint& point : points[s]) {
      if (!has_place(point.y, lines.y.log)) {
        open = false;
        continue;
      }
      path += fmt::format("{}{} {}", open ? "L" : "M", px(frame.x.at(point.x)),
                          px(frame.y.at(point.y)));
      open = true;
    }
    if (path.empty()) return;
    canvas.add("<path class=\"{} stroke\" d=\"{}\"/>\n", line_class(s), path);
    for (std::size_t i = 0; i < points[s].size(); ++i) {
      const LinePoint& point = points[s][i];
      if (!has_place(point.y, lines.y.log)) continue;
      // A point between two gaps has no line, so it must have a mark.
      const bool alone = (i == 0 || !has_place(points[s][i - 1].y, lines.y.log)) &&
                         (i + 1 == points[s].size() || !has_place(points[s][i + 1].y, lines.y.log));
      if (points[s].size() > kMostMarks && !alone) continue;
      draw_mark(
          canvas, frame.x.at(point.x), frame.y.at(point.y), 3.5, dot_class(s), static_cast<int>(s),
          num_points <= kMostLineTips ? fmt::format("{}, {}: {}", lines.series[s].name,
                                                    x_text(point.x), human(point.y, lines.y.unit))
                                      : "");
    }
  }

  void draw_gaps(Canvas& canvas, const Frame& frame) const {
    for (std::size_t row = 0; row < with_gaps.size(); ++row) {
      const std::size_t s = with_gaps[row];
      const double y = frame.bottom + 9 + kStripRow * static_cast<double>(row);
      for (const LinePoint& point : points[s]) {
        if (has_place(point.y, lines.y.log)) continue;
        const double x = frame.x.at(point.x);
        canvas.add("<path class=\"{} cross\" d=\"M{} {}l6 6m0 -6l-6 6\"><title>{}</title></path>\n",
                   line_class(s), px(x - 3), px(y - 3),
                   escaped(fmt::format("{}, {}: {}", lines.series[s].name, x_text(point.x),
                                       lines.gap_reason)));
      }
    }
  }

  static std::string line_class(std::size_t s) {
    return fmt::format("l{}{}", s % kNumSeries, s >= kNumSeries ? " dashed" : "");
  }
  static std::string dot_class(std::size_t s) { return fmt::format("s{} ring", s % kNumSeries); }
};

}  // namespace

std::string svg_of(const Lines& lines, std::string_view id) {
  const LineDrawing drawing(lines);
  std::vector<double> xs, ys;
  for (const auto& points : drawing.points)
    for (const LinePoint& point : points) {
      xs.push_back(point.x);
      if (has_place(point.y, lines.y.log)) ys.push_back(point.y);
    }
  if (ys.empty())
    return empty_picture(id, lines.title,
                         xs.empty() ? "There is nothing to show."
                                    : "No point has a value: " + lines.gap_reason + ".");
  Canvas canvas(id);
  canvas.rule(".stroke{stroke-width:2;stroke-linejoin:round}");
  canvas.rule(".dashed{stroke-dasharray:6 4}");
  canvas.rule(".cross{stroke-width:1.6;stroke-dasharray:none}");
  canvas.rule(".ring{stroke:var(--paper);stroke-width:1}");
  const double width = kPictureWidth - 2 * kMargin;
  double y = canvas.heading(kMargin, 12, lines.title, width) + 6;
  std::vector<LegendEntry> legend;
  for (std::size_t s = 0; s < lines.series.size(); ++s)
    legend.push_back({lines.series[s].name, LegendMark::kLine, LineDrawing::line_class(s),
                      LineDrawing::dot_class(s), static_cast<int>(s)});
  if (lines.series.size() > 1 || !lines.series.front().name.empty())
    y = draw_legend(canvas, kMargin, y, width, legend) + 6;
  const double rows = static_cast<double>(drawing.with_gaps.size());
  const Frame frame = draw_frame(canvas, {.x = lines.x,
                                          .y = lines.y,
                                          .xs = xs,
                                          .ys = ys,
                                          .categories = lines.categories,
                                          .top = y,
                                          .height = 320,
                                          .strip = rows > 0 ? rows * kStripRow + 6 : 0});
  for (std::size_t s = 0; s < lines.series.size(); ++s) drawing.draw_series(canvas, frame, s);
  drawing.draw_gaps(canvas, frame);
  const std::string note = rows > 0 ? "\u00d7 " + lines.gap_reason : "";
  const double bottom = canvas.note(kMargin, frame.below + 2, note, width);
  return canvas.finish(kPictureWidth, bottom + 12, lines.title);
}

}  // namespace nereus::chart
