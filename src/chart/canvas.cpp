#include "chart/canvas.hpp"

#include <cmath>

#include "chart/colours.hpp"
#include "chart/text.hpp"

namespace nereus::chart {

std::string px(double length) {
  const double tenths = std::round(length * 10);
  if (tenths == 0) return "0";
  if (std::fmod(tenths, 10) == 0) return fmt::format("{:.0f}", tenths / 10);
  return fmt::format("{:.1f}", tenths / 10);
}

Canvas::Canvas(std::string_view id) : id_(id_of(id)) {}

void Canvas::text(double x, double y, std::string_view content, const TextStyle& style) {
  if (content.empty()) return;
  add("<text x=\"{}\" y=\"{}\"", px(x), px(y));
  if (style.anchor != std::string_view("start")) add(" text-anchor=\"{}\"", style.anchor);
  if (style.size != 12) add(" font-size=\"{}\"", px(style.size));
  if (style.bold) add(" font-weight=\"600\"");
  if (!style.css_class.empty()) add(" class=\"{}\"", style.css_class);
  if (style.turn != 0) add(" transform=\"rotate({} {} {})\"", px(style.turn), px(x), px(y));
  add(">{}", escaped(content));
  if (!style.tip.empty()) add("<title>{}</title>", escaped(style.tip));
  add("</text>\n");
}

void Canvas::line(std::string_view css_class, double x0, double y0, double x1, double y1) {
  add("<path class=\"{}\" d=\"M{} {}L{} {}\"/>\n", css_class, px(x0), px(y0), px(x1), px(y1));
}

double Canvas::heading(double x, double y, std::string_view title, double width) {
  for (const std::string& row : wrapped(title, width, 15, true)) {
    text(x, y + 15, row, {.size = 15, .bold = true});
    y += 20;
  }
  return y;
}

double Canvas::note(double x, double y, std::string_view content, double width) {
  for (const std::string& row : wrapped(content, width, 11)) {
    text(x, y + 11, row, {.size = 11, .css_class = "muted"});
    y += 15;
  }
  return y;
}

void Canvas::rule(std::string_view css) { rules_ += fmt::format("#{} {}", id_, css); }

void Canvas::use_hatch(int kind) {
  if ((hatches_ >> kind & 1u) != 0) return;
  hatches_ |= 1u << kind;
  constexpr const char* kStrokes[] = {"M-2 2L2 -2M0 8L8 0M6 10L10 6",
                                      "M-2 6L2 10M0 0L8 8M6 -2L10 2", "M0 8L8 0M0 0L8 8",
                                      "M2 2h1.5M6 6h1.5", "M-2 6L2 10M0 0L8 8M6 -2L10 2"};
  definitions_ += fmt::format(
      "<pattern id=\"{}-hatch{}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
      "<path class=\"{}\" d=\"{}\"/></pattern>",
      id_, kind, kind == 4 ? "gap" : "stripe", kStrokes[kind]);
  rule(fmt::format(".hatch{0}{{fill:url(#{1}-hatch{0})}}", kind, id_));
}

std::string Canvas::finish(double width, double height, std::string_view label) const {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"{}\" role=\"img\" aria-label=\"{}\" "
      "viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\">\n<style>\n",
      id_, escaped(label.empty() ? "picture" : label), px(width), px(height), px(width),
      px(height));
  svg += theme_css("#" + id_, ramp_);
  svg += fmt::format(
      "#{0}{{background:var(--paper);font:12px system-ui,-apple-system,\"Segoe "
      "UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif}}\n"
      "#{0} text{{fill:var(--ink)}}#{0} text.muted{{fill:var(--muted)}}"
      "#{0} text.warn{{fill:var(--warn)}}#{0} text.accent{{fill:var(--accent)}}"
      "#{0} .paper{{fill:var(--paper)}}#{0} .grid{{stroke:var(--grid);fill:none}}"
      "#{0} .axis{{stroke:var(--line);fill:none}}#{0} .stripe{{stroke:var(--line);fill:none}}"
      "#{0} .gap{{stroke:var(--paper);fill:none;stroke-width:1.5}}"
      "#{0} .halo{{paint-order:stroke;stroke:var(--paper);stroke-width:3;stroke-linejoin:round}}\n",
      id_);
  for (int i = 0; i < kNumSeries; ++i)
    svg += fmt::format("#{0} .s{1}{{fill:var(--s{1})}}#{0} .l{1}{{stroke:var(--s{1});fill:none}}",
                       id_, i);
  svg += "\n" + rules_ + "\n</style>\n";
  if (!definitions_.empty()) svg += "<defs>" + definitions_ + "</defs>\n";
  svg += fmt::format("<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n", px(width), px(height));
  return svg + body_ + "</svg>\n";
}

std::string empty_picture(std::string_view id, std::string_view title, std::string_view message) {
  constexpr double kWidth = 560;
  Canvas canvas(id);
  const double y = canvas.heading(16, 12, title, kWidth - 32);
  const double bottom = canvas.note(16, y + 8, message, kWidth - 32);
  return canvas.finish(kWidth, bottom + 14, title.empty() ? message : title);
}

}  // namespace nereus::chart
