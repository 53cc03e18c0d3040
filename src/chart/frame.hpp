// Shared by scatter plots and line charts: a legend, and a plot area with axes, grid and titles.
//
//   double y = draw_legend(canvas, 16, 40, 800, {{"dp 8", LegendMark::kLine, 0}});
//   Frame frame = draw_frame(canvas, {.x = ..., .y = ..., .top = y, .width = 860, .height = 360});
//   canvas.add(..., px(frame.x.at(value)), ...);
#pragma once

#include <span>
#include <string>
#include <vector>

#include "chart/axis.hpp"
#include "chart/canvas.hpp"

namespace nereus::chart {

inline constexpr double kPictureWidth = 860;
inline constexpr double kMargin = 16;

enum class LegendMark { kBox, kHatchedBox, kLine, kDot, kOutline };

struct LegendEntry {
  std::string text;
  LegendMark mark = LegendMark::kBox;
  std::string css_class;  // of the mark; for kHatchedBox, of the pattern on top of css_under
  std::string css_under = {};
  int shape = 0;  // shape of the dots on a line
};

// Draws rows no wider than `width`; returns the y below.
double draw_legend(Canvas& canvas, double x, double y, double width,
                   std::span<const LegendEntry> entries);

// Shapes of points, so that series differ not only by color: circle, square, triangle, diamond.
void draw_mark(Canvas& canvas, double x, double y, double size, std::string_view css_class,
               int shape, std::string_view tip = {});

struct FrameRequest {
  const Axis& x;
  const Axis& y;
  std::span<const double> xs;
  std::span<const double> ys;
  std::span<const std::string> categories = {};  // instead of numbers: x is 0, 1, ...
  double top = 0;
  double height = 380;       // of the plot area
  double strip = 0;          // space between the plot area and the labels of x
  bool say_better = false;   // adds "lower is better" to the titles
  double right_margin = 24;  // to the right of the plot area
};

struct Frame {
  AxisScale x;
  AxisScale y;
  double left = 0, right = 0, top = 0, bottom = 0;  // of the plot area
  double below = 0;                                 // first free y below everything
};

Frame draw_frame(Canvas& canvas, const FrameRequest& request);

}  // namespace nereus::chart
