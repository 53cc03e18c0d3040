// An SVG picture that is being drawn. All its styles and ids begin with the picture's id, so that
// several pictures can be in one page. Colors are the custom properties of chart/colours.hpp, so
// the picture follows the reader's light or dark mode, both as a separate file and inside a page.
//
//   Canvas canvas("fig1");
//   canvas.text(10, 20, "a < b", {.size = 15, .bold = true});
//   canvas.add("<rect class=\"s0\" x=\"{}\" y=\"{}\" .../>", px(x), px(y));
//   return canvas.finish(width, height, "what it shows");
//
// Classes: s0 to s7 (fill of a series), l0 to l7 (its line), grid, axis, paper, muted, accent,
// warn, halo (text on top of lines).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace nereus::chart {

// A length for an attribute: at most one decimal, no "-0".
std::string px(double length);

struct TextStyle {
  double size = 12;
  const char* anchor = "start";  // start, middle, end
  std::string_view css_class = {};
  bool bold = false;
  double turn = 0;  // rotation in degrees about its anchor
  std::string_view tip = {};
};

class Canvas {
 public:
  explicit Canvas(std::string_view id);

  const std::string& id() const { return id_; }

  // Adds SVG unchanged; external text must be passed through escaped() first.
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(body_), format, std::forward<Arguments>(arguments)...);
  }
  void text(double x, double y, std::string_view content, const TextStyle& style = {});
  void line(std::string_view css_class, double x0, double y0, double x1, double y1);

  // Draws the lines of a heading or a note; returns the y below the last one.
  double heading(double x, double y, std::string_view title, double width);
  double note(double x, double y, std::string_view text, double width);

  // A CSS rule for this picture only, e.g. rule(".dot{opacity:.5}").
  void rule(std::string_view css);
  void use_ramp() { ramp_ = true; }
  // A fill pattern of lines: class "hatch0" (/), "hatch1" (\), "hatch2" (both), "hatch3" (dots),
  // "hatch4" (\ in the color of the paper). The picture then includes the pattern's definition.
  void use_hatch(int kind);

  std::string finish(double width, double height, std::string_view label) const;

 private:
  std::string id_;
  std::string body_;
  std::string rules_;
  std::string definitions_;
  bool ramp_ = false;
  unsigned hatches_ = 0;
};

// A picture that only shows a message.
std::string empty_picture(std::string_view id, std::string_view title, std::string_view message);

}  // namespace nereus::chart
