#include "chart/frame.hpp"

#include <algorithm>
#include <cmath>

#include "chart/text.hpp"

namespace nereus::chart {

namespace {

constexpr double kTurn = 35;  // degrees of category names that do not fit side by side
constexpr double kLongestCategory = 150;

double widest(std::span<const Tick> ticks, double size) {
  double width = 0;
  for (const Tick& tick : ticks) width = std::max(width, text_width(tick.label, size));
  return width;
}

// The middle of a label: under its tick, but inside the picture.
double label_x(const AxisScale& scale, const Tick& tick) {
  const double half = text_width(tick.label, 11) / 2;
  return std::clamp(scale.at(tick.value), 2 + half, kPictureWidth - 2 - half);
}

bool overlap(const AxisScale& scale, const Tick& a, const Tick& b) {
  const double room = std::abs(label_x(scale, a) - label_x(scale, b));
  return (text_width(a.label, 11) + text_width(b.label, 11)) / 2 + 10 > room;
}

// As many ticks as there is space for their labels. On a logarithmic axis even few labels may
// overlap; then the first one stays.
AxisScale horizontal_scale(const FrameRequest& request, double left, double right) {
  AxisScale scale;
  for (int ticks = 10; ticks >= 2; --ticks) {
    scale = make_scale(request.x, request.xs, left, right, ticks);
    bool good = true;
    for (std::size_t i = 1; i < scale.ticks.size(); ++i)
      good = good && !overlap(scale, scale.ticks[i - 1], scale.ticks[i]);
    if (good) return scale;
  }
  std::vector<Tick> kept;
  for (const Tick& tick : scale.ticks)
    if (kept.empty() || !overlap(scale, kept.back(), tick)) kept.push_back(tick);
  scale.ticks = std::move(kept);
  return scale;
}

AxisScale category_scale(std::span<const std::string> names, double left, double right) {
  AxisScale scale{.low = -0.5,
                  .high = static_cast<double>(names.size()) - 0.5,
                  .from = left,
                  .to = right,
                  .ticks = {}};
  for (std::size_t i = 0; i < names.size(); ++i)
    scale.ticks.push_back({static_cast<double>(i), names[i]});
  return scale;
}

std::string titled(const Axis& axis, bool say_better) {
  if (!say_better || axis.title.empty()) return axis.title;
  return axis.title + (axis.lower_is_better ? " (lower is better)" : " (higher is better)");
}

// Names of categories: side by side, or turned, or every n-th of them turned.
double draw_categories(Canvas& canvas, const AxisScale& x, double y) {
  const double slot = (x.to - x.from) / static_cast<double>(x.ticks.size());
  if (widest(x.ticks, 11) + 8 <= slot) {
    for (const Tick& tick : x.ticks)
      canvas.text(x.at(tick.value), y + 16, tick.label, {.size = 11, .anchor = "middle"});
    return y + 22;
  }
  const double room = std::min(kLongestCategory, widest(x.ticks, 11));
  const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(20 / slot)));
  for (std::size_t i = 0; i < x.ticks.size(); i += every)
    canvas.text(x.at(x.ticks[i].value) + 4, y + 14, shortened(x.ticks[i].label, room, 11),
                {.size = 11, .anchor = "end", .turn = -kTurn, .tip = x.ticks[i].label});
  return y + 20 + room * std::sin(kTurn * M_PI / 180);
}

}  // namespace

void draw_mark(Canvas& canvas, double x, double y, double size, std::string_view css_class,
               int shape, std::string_view tip) {
  const double r = size;
  const auto at = [&](double dx, double dy) { return px(x + dx) + " " + px(y + dy); };
  std::string path;
  switch (shape % 4) {
    case 1:
      path = fmt::format("M{}L{}L{}L{}z", at(-r * .9, -r * .9), at(r * .9, -r * .9),
                         at(r * .9, r * .9), at(-r * .9, r * .9));
      break;
    case 2:
      path = fmt::format("M{}L{}L{}z", at(0, -r * 1.25), at(r * 1.15, r * .85),
                         at(-r * 1.15, r * .85));
      break;
    case 3:
      path = fmt::format("M{}L{}L{}L{}z", at(0, -r * 1.35), at(r * 1.2, 0), at(0, r * 1.35),
                         at(-r * 1.2, 0));
      break;
    default:
      break;
  }
  if (path.empty())
    canvas.add("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"", css_class, px(x), px(y), px(r));
  else
    canvas.add("<path class=\"{}\" d=\"{}\"", css_class, path);
  if (tip.empty())
    canvas.add("/>\n");
  else
    canvas.add("><title>{}</title></{}>\n", escaped(tip), path.empty() ? "circle" : "path");
}

double draw_legend(Canvas& canvas, double x, double y, double width,
                   std::span<const LegendEntry> entries) {
  if (entries.empty()) return y;
  const double start = x;
  for (const LegendEntry& entry : entries) {
    const std::string text = shortened(entry.text, width - 40, 12);
    const double mark = entry.mark == LegendMark::kLine ? 26 : 13;
    const double length = mark + 6 + text_width(text, 12);
    if (x > start && x + length > start + width) {
      x = start;
      y += 20;
    }
    const double middle = y + 8;
    switch (entry.mark) {
      case LegendMark::kLine:
        canvas.line(entry.css_class + " stroke", x, middle, x + 26, middle);
        draw_mark(canvas, x + 13, middle, 3.5, entry.css_under, entry.shape);
        break;
      case LegendMark::kDot:
        draw_mark(canvas, x + 6.5, middle, 4.5, entry.css_class, entry.shape);
        break;
      default:
        if (!entry.css_under.empty())
          canvas.add("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"13\" height=\"13\"/>",
                     entry.css_under, px(x), px(y + 1.5));
        canvas.add("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"13\" height=\"13\"/>\n",
                   entry.css_class, px(x), px(y + 1.5));
    }
    canvas.text(x + mark + 6, y + 12, text, {.tip = text == entry.text ? "" : entry.text});
    x += length + 20;
  }
  return y + 20;
}

Frame draw_frame(Canvas& canvas, const FrameRequest& request) {
  Frame frame;
  frame.top = request.top + (request.y.title.empty() ? 8 : 26);
  frame.bottom = frame.top + request.height;
  frame.right = kPictureWidth - request.right_margin;
  const int rows = std::max(2, static_cast<int>(request.height / 48));
  frame.y = make_scale(request.y, request.ys, frame.bottom, frame.top, rows);
  frame.left = kMargin + std::max(40.0, widest(frame.y.ticks, 11)) + 8;
  if (!request.categories.empty()) {
    // Turned names reach to the left of their place.
    double reach = 0;
    for (const std::string& name : request.categories)
      reach = std::max(reach, std::min(kLongestCategory, text_width(name, 11)));
    const double slot = (frame.right - frame.left) / static_cast<double>(request.categories.size());
    if (reach + 8 > slot) frame.left = std::max(frame.left, kMargin + reach * 0.82 - slot / 2);
    frame.x = category_scale(request.categories, frame.left, frame.right);
  } else {
    frame.x = horizontal_scale(request, frame.left, frame.right);
  }

  if (!request.y.title.empty())
    canvas.text(kMargin, request.top + 12,
                shortened(titled(request.y, request.say_better), kPictureWidth - 2 * kMargin, 12),
                {.css_class = "muted"});
  std::string grid;
  for (const Tick& tick : frame.y.ticks) {
    const double y = frame.y.at(tick.value);
    grid += fmt::format("M{} {}H{}", px(frame.left), px(y), px(frame.right));
    canvas.text(frame.left - 8, y + 4, tick.label, {.size = 11, .anchor = "end"});
  }
  const double under = frame.bottom + request.strip;
  if (request.categories.empty())
    for (const Tick& tick : frame.x.ticks) {
      const double x = frame.x.at(tick.value);
      grid += fmt::format("M{} {}V{}", px(x), px(frame.top), px(under));
      canvas.text(label_x(frame.x, tick), under + 16, tick.label, {.size = 11, .anchor = "middle"});
    }
  canvas.add("<path class=\"grid\" d=\"{}\"/>\n", grid);
  canvas.line("axis", frame.left, frame.bottom, frame.right, frame.bottom);
  frame.below = request.categories.empty() ? under + 22 : draw_categories(canvas, frame.x, under);
  if (!request.x.title.empty()) {
    canvas.text((frame.left + frame.right) / 2, frame.below + 14,
                shortened(titled(request.x, request.say_better), frame.right - frame.left, 12),
                {.anchor = "middle", .css_class = "muted"});
    frame.below += 22;
  }
  return frame;
}

}  // namespace nereus::chart
