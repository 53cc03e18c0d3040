#include <fmt/format.h>

#include <algorithm>

#include "api/reports/job_report.hpp"
#include "chart/frame.hpp"

namespace nereus::api {

namespace {

using simulate::Activity;

constexpr double kBar = 22, kGap = 8, kPlotHeight = 160, kLeast = 0.3;
// Series of chart/colours.hpp, by activity: useful, checkpoint, restart, lost, idle.
constexpr const char* kClasses[] = {"s0", "s1", "s2", "s3", "grid"};

void draw_machines(chart::Canvas& canvas, const app::JobAnswer& answer, const chart::Frame& frame) {
  const simulate::Availability& trace = answer.trace;
  std::string path;
  int count = 0;
  for (std::size_t i = 0; i < trace.events.size();) {
    const double time = trace.events[i].time;
    const double x = frame.x.at(time - trace.begin);
    if (!path.empty()) path += fmt::format("H{}", chart::px(x));
    for (; i < trace.events.size() && trace.events[i].time == time; ++i)
      count += trace.events[i].added ? 1 : -1;
    path += fmt::format("{}{}", path.empty() ? fmt::format("M{} ", chart::px(x)) : "V",
                        chart::px(frame.y.at(count)));
  }
  path += fmt::format("H{}", chart::px(frame.x.at(trace.duration())));
  canvas.add("<path class=\"l0\" fill=\"none\" d=\"{}\"/>", path);
}

// Segments narrower than a third of a pixel are merged, in the color of what takes most of their
// time; adjacent segments of one kind are one rectangle.
void draw_bar(chart::Canvas& canvas, const simulate::JobPlay& play, double begin,
              const chart::Frame& frame, double top) {
  double start = frame.left, end = frame.left;  // of the rectangle
  std::ptrdiff_t kind = -1;
  const auto flush = [&] {
    if (kind >= 0)
      canvas.add("<rect class=\"{}\" x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\"/>",
                 kClasses[kind], start, chart::px(top), end - start, chart::px(kBar));
    start = end;
  };
  double spent[simulate::kNumActivities] = {};
  for (std::size_t i = 0; i < play.segments.size(); ++i) {
    const simulate::JobSegment& own = play.segments[i];
    spent[static_cast<int>(own.activity)] += own.end - own.start;
    const double to = frame.x.at(own.end - begin);
    if (to - end < kLeast && i + 1 < play.segments.size()) continue;
    const auto most = std::max_element(spent, spent + simulate::kNumActivities) - spent;
    if (most != kind) flush();
    kind = most;
    end = to;
    std::fill(spent, spent + simulate::kNumActivities, 0.0);
  }
  flush();
}

}  // namespace

std::string job_picture(const app::JobAnswer& answer) {
  chart::Canvas canvas("job");
  double y = canvas.heading(chart::kMargin, 24, answer.subject + ", " + answer.trace.name,
                            chart::kPictureWidth - 2 * chart::kMargin);
  std::vector<chart::LegendEntry> legend;
  for (int i = 0; i < simulate::kNumActivities; ++i)
    legend.push_back(
        {std::string(to_string(static_cast<Activity>(i))), chart::LegendMark::kBox, kClasses[i]});
  y = chart::draw_legend(canvas, chart::kMargin, y, chart::kPictureWidth - 2 * chart::kMargin,
                         legend);
  const double times[] = {0, answer.trace.duration()};
  const double counts[] = {0, static_cast<double>(answer.summary.most)};
  const chart::Axis x_axis{.title = "time", .unit = Unit::kSeconds, .from_zero = true};
  const chart::Axis y_axis{.title = "machines", .unit = Unit::kCount, .from_zero = true};
  const chart::Frame frame = chart::draw_frame(
      canvas,
      {.x = x_axis, .y = y_axis, .xs = times, .ys = counts, .top = y + 8, .height = kPlotHeight});
  draw_machines(canvas, answer, frame);
  double top = frame.below + kGap;
  for (const simulate::JobPlay& play : answer.plays) {
    canvas.text(frame.left, top + 12,
                fmt::format("{}: goodput {}", play.policy, format_share(play.goodput())));
    draw_bar(canvas, play, answer.trace.begin, frame, top + 18);
    top += 18 + kBar + kGap;
  }
  return canvas.finish(chart::kPictureWidth, top + kGap, "a job through machines that come and go");
}

}  // namespace nereus::api
