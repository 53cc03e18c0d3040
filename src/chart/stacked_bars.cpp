#include "chart/stacked_bars.hpp"

#include <algorithm>
#include <cmath>

#include "chart/axis.hpp"
#include "chart/canvas.hpp"
#include "chart/colours.hpp"
#include "chart/frame.hpp"
#include "chart/text.hpp"

namespace nereus::chart {

namespace {

constexpr double kLongestName = 260;
constexpr double kLongestMisfit = 260;
constexpr double kBar = 20;
constexpr double kRow = 30;

struct Row {
  const Bar* bar = nullptr;
  std::vector<double> parts;
  double total = 0;
  std::string total_text;  // empty if there is nothing to sum
  std::string misfit;      // shortened
  double text = 0;         // width of both, with the gaps around them
};

Row row_of(const StackedBars& bars, const Bar& bar) {
  Row row{.bar = &bar, .parts = {}, .total_text = {}, .misfit = {}};
  for (std::size_t i = 0; i < bars.parts.size(); ++i) {
    const double part = i < bar.parts.size() ? bar.parts[i] : 0;
    row.parts.push_back(has_place(part, true) && has_place(row.total + part, true) ? part : 0);
    row.total += row.parts.back();
  }
  if (row.total > 0) row.total_text = human(row.total, bars.unit);
  if (row.total == 0 && bar.misfit.empty()) row.total_text = "no value";
  row.misfit = shortened(bar.misfit, kLongestMisfit, 12);
  if (!row.total_text.empty()) row.text += 8 + text_width(row.total_text, 12, true);
  if (!row.misfit.empty()) row.text += 8 + text_width(row.misfit, 12);
  return row;
}

void draw_parts(Canvas& canvas, const StackedBars& bars, const Row& row, double left, double y,
                const AxisScale& scale) {
  double sum = 0;
  for (std::size_t i = 0; i < row.parts.size(); ++i) {
    if (row.parts[i] == 0) continue;
    const double from = scale.at(sum);
    sum += row.parts[i];
    const double width = scale.at(sum) - from;
    if (width < 0.05) continue;
    // A gap in the colour of the paper parts neighbours that the eye would take for one.
    const double shown = width > 3 ? width - 1 : width;
    const std::string tip =
        fmt::format("{}, {}: {} ({})", row.bar->name, bars.parts[i], human(row.parts[i], bars.unit),
                    format_share(row.parts[i] / row.total));
    canvas.add(
        "<rect class=\"s{}\" x=\"{}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\"><title>{}"
        "</title></rect>\n",
        i % kNumSeries, px(from), px(y), shown, kBar, escaped(tip));
    if (i >= kNumSeries)
      canvas.add("<rect class=\"hatch4\" x=\"{}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\"/>\n",
                 px(from), px(y), shown, kBar);
  }
  if (!row.bar->misfit.empty() && row.total > 0)
    canvas.add(
        "<rect class=\"veil\" x=\"{}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\"/>"
        "<rect class=\"hatch0\" x=\"{}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\"/>\n",
        px(left), px(y), scale.at(row.total) - left, kBar, px(left), px(y),
        scale.at(row.total) - left, kBar);
}

}  // namespace

std::string svg_of(const StackedBars& bars, std::string_view id) {
  if (bars.bars.empty() || bars.parts.empty())
    return empty_picture(id, bars.title, "There are no bars to show.");
  std::vector<Row> rows;
  double names = 0, most = 0;
  for (const Bar& bar : bars.bars) {
    rows.push_back(row_of(bars, bar));
    names = std::max(names, text_width(shortened(bar.name, kLongestName, 12), 12));
    most = std::max(most, rows.back().total);
  }
  const double left = kMargin + names + (names > 0 ? 10 : 0);
  const double right = kPictureWidth - kMargin;
  double per_pixel = 0;  // seconds
  for (const Row& row : rows)
    per_pixel = std::max(per_pixel, row.total / (right - left - row.text - 4));

  Canvas canvas(id);
  canvas.rule(".veil{fill:var(--paper);fill-opacity:.6}");
  double y = canvas.heading(kMargin, 12, bars.title, right - kMargin) + 6;
  if (bars.parts.size() > kNumSeries) canvas.use_hatch(4);
  std::vector<LegendEntry> legend;
  for (std::size_t i = 0; i < bars.parts.size(); ++i) {
    const std::string colour = fmt::format("s{}", i % kNumSeries);
    if (i < kNumSeries)
      legend.push_back({bars.parts[i], LegendMark::kBox, colour});
    else
      legend.push_back({bars.parts[i], LegendMark::kHatchedBox, "hatch4", colour});
  }
  y = draw_legend(canvas, kMargin, y, right - kMargin, legend) + 10;

  const double bottom = y + kRow * static_cast<double>(rows.size());
  // The axis ends at the end of the longest bar, so that it never runs below a text.
  AxisScale scale{.from = left, .to = left + 1, .ticks = {}};
  if (most > 0) {
    const Axis axis{.title = {}, .unit = bars.unit, .from_zero = true};
    const double length = most / per_pixel;
    const double values[] = {0.0, most};
    const int ticks = std::clamp(static_cast<int>(length / 80), 2, 9);
    scale = make_scale(axis, values, left, left + length, ticks, Ends::kTight);
    std::string grid;
    for (const Tick& tick : scale.ticks)
      grid += fmt::format("M{0} {1}V{2}", px(scale.at(tick.value)), px(y - 4), px(bottom));
    canvas.add("<path class=\"grid\" d=\"{}\"/>\n", grid);
    double free_from = 0;
    for (const Tick& tick : scale.ticks) {
      const double half = text_width(tick.label, 11) / 2;
      const double x = std::clamp(scale.at(tick.value), 2 + half, kPictureWidth - 2 - half);
      if (x - half < free_from) continue;
      free_from = x + half + 8;
      canvas.text(x, bottom + 14, tick.label, {.size = 11, .anchor = "middle"});
    }
  }
  for (const Row& row : rows) {
    const std::string name = shortened(row.bar->name, kLongestName, 12);
    canvas.text(left - 10, y + 14, name,
                {.anchor = "end", .tip = name == row.bar->name ? "" : row.bar->name});
    if (!row.bar->misfit.empty()) canvas.use_hatch(0);
    draw_parts(canvas, bars, row, left, y, scale);
    double x = (row.total > 0 ? scale.at(row.total) : left) + 8;
    if (!row.total_text.empty()) {
      canvas.text(x, y + 14, row.total_text,
                  {.css_class = row.total > 0 ? "halo" : "muted", .bold = row.total > 0});
      x += text_width(row.total_text, 12, true) + 8;
    }
    canvas.text(
        x, y + 14, row.misfit,
        {.css_class = "warn halo", .tip = row.misfit == row.bar->misfit ? "" : row.bar->misfit});
    y += kRow;
  }
  canvas.line("axis", left, bottom - kRow * static_cast<double>(rows.size()) - 4, left, bottom);
  double end = bottom + (most > 0 ? 22 : 4);
  if (!bars.axis_title.empty() && most > 0) {
    canvas.text(left, end + 12, shortened(bars.axis_title, right - left, 12),
                {.css_class = "muted"});
    end += 18;
  }
  return canvas.finish(kPictureWidth, end + 10, bars.title);
}

}  // namespace nereus::chart
