#include "chart/scatter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "chart/canvas.hpp"
#include "chart/frame.hpp"
#include "chart/label_layout.hpp"
#include "chart/text.hpp"

namespace nereus::chart {

namespace {

constexpr std::size_t kMostDots = 1500;
constexpr std::size_t kMostDotTips = 400;
constexpr std::size_t kMostLabels = 16;
constexpr std::size_t kMostTried = 200;  // labels, so that long fronts take no long time
constexpr std::size_t kFew = 12;         // front points: all labelled, over other points if need be
constexpr double kSquare = 5;            // pixels
constexpr double kTogether = 3;          // front points nearer than this are one mark
constexpr double kLabelSize = 11;
constexpr double kLongestLabel = 200;

std::string grouped(std::size_t count) { return format_count(static_cast<std::int64_t>(count)); }

std::string tip_of(const Scatter& scatter, const ScatterPoint& point) {
  const std::string values = human(point.x, scatter.x.unit) + ", " + human(point.y, scatter.y.unit);
  return point.label.empty() ? values : point.label + ": " + values;
}

void draw_dots(Canvas& canvas, const Scatter& scatter, const Frame& frame,
               const std::vector<const ScatterPoint*>& points) {
  for (const ScatterPoint* point : points)
    canvas.add("<circle class=\"dot\" cx=\"{}\" cy=\"{}\" r=\"2.5\"><title>{}</title></circle>\n",
               px(frame.x.at(point->x)), px(frame.y.at(point->y)),
               escaped(tip_of(scatter, *point)));
}

// One path a shade.
void draw_squares(Canvas& canvas, const Frame& frame,
                  const std::vector<const ScatterPoint*>& points) {
  std::map<std::pair<int, int>, std::size_t> counts;  // of squares, by row and column
  for (const ScatterPoint* point : points) {
    const double x = (frame.x.at(point->x) - frame.left) / kSquare;
    const double y = (frame.y.at(point->y) - frame.top) / kSquare;
    ++counts[{static_cast<int>(std::floor(y)), static_cast<int>(std::floor(x))}];
  }
  std::array<std::string, 4> paths;
  for (const auto& [place, count] : counts) {
    const std::size_t shade = count >= 100 ? 3 : count >= 10 ? 2 : count >= 2 ? 1 : 0;
    paths[shade] += fmt::format("M{} {}h{}", px(frame.left + kSquare * place.second),
                                px(frame.top + kSquare * (place.first + 0.5)), kSquare - 1);
  }
  for (std::size_t shade = 0; shade < paths.size(); ++shade)
    if (!paths[shade].empty())
      canvas.add("<path class=\"square d{}\" d=\"{}\"/>\n", shade, paths[shade]);
}

// Sorted by x; of points at the same position only the first.
std::vector<const ScatterPoint*> marks_of(const Frame& frame,
                                          std::vector<const ScatterPoint*> front) {
  std::stable_sort(front.begin(), front.end(), [](const ScatterPoint* a, const ScatterPoint* b) {
    return a->x != b->x ? a->x < b->x : a->y < b->y;
  });
  std::vector<const ScatterPoint*> marks;
  std::map<std::pair<int, int>, bool> taken;
  for (const ScatterPoint* point : front) {
    const std::pair place = {static_cast<int>(std::floor(frame.x.at(point->x) / kTogether)),
                             static_cast<int>(std::floor(frame.y.at(point->y) / kTogether))};
    if (taken.emplace(place, true).second) marks.push_back(point);
  }
  return marks;
}

// Ends first, then the middle, then the middles between those.
std::vector<std::size_t> ends_first(std::size_t count) {
  std::vector<std::size_t> order;
  std::vector<bool> taken(count, false);
  const auto add = [&](std::size_t i) {
    if (i < count && !taken[i]) taken[i] = true, order.push_back(i);
  };
  if (count > 0) add(0), add(count - 1);
  for (std::size_t stride = std::max<std::size_t>(1, count / 2); order.size() < count;
       stride = std::max<std::size_t>(1, stride / 2))
    for (std::size_t i = stride; i < count; i += stride) add(i);
  return order;
}

// Returns how many labels found no place.
std::size_t draw_front(Canvas& canvas, const Scatter& scatter, const Frame& frame,
                       const std::vector<const ScatterPoint*>& marks) {
  std::string path;
  std::vector<Box> obstacles;
  double last_x = 0, last_y = 0;
  for (const ScatterPoint* point : marks) {
    const double x = frame.x.at(point->x);
    const double y = frame.y.at(point->y);
    if (path.empty()) {
      path = fmt::format("M{} {}", px(x), px(y));
    } else {
      const bool across = scatter.x.lower_is_better;  // first along x, then along y
      path += across ? fmt::format("H{}V{}", px(x), px(y)) : fmt::format("V{}H{}", px(y), px(x));
      const double level = across ? last_y : y;
      const double at = across ? x : last_x;
      obstacles.push_back({last_x, level - 1, x, level + 1});
      obstacles.push_back({at - 1, std::min(y, last_y), at + 1, std::max(y, last_y)});
    }
    obstacles.push_back({x - 4.5, y - 4.5, x + 4.5, y + 4.5});
    last_x = x, last_y = y;
  }
  canvas.add("<path class=\"front\" d=\"{}\"/>\n", path);
  const double radius = marks.size() > 60 ? 3 : 4.5;
  for (std::size_t i = 0; i < marks.size(); ++i)
    draw_mark(canvas, frame.x.at(marks[i]->x), frame.y.at(marks[i]->y), radius, "mark", 0,
              i < kMostDotTips ? tip_of(scatter, *marks[i]) : "");

  std::vector<PointLabel> labels;
  std::vector<const ScatterPoint*> labelled;
  std::size_t left_out = 0;
  for (const std::size_t i : ends_first(marks.size())) {
    if (marks[i]->label.empty()) continue;
    if (labels.size() == kMostTried) {
      ++left_out;
      continue;
    }
    const std::string text = shortened(marks[i]->label, kLongestLabel, kLabelSize);
    labels.push_back({frame.x.at(marks[i]->x), frame.y.at(marks[i]->y),
                      text_width(text, kLabelSize) + 2, kLabelSize + 4,
                      marks.size() <= kFew || i == 0 || i + 1 == marks.size()});
    labelled.push_back(marks[i]);
  }
  const Box area = {frame.left + 2, frame.top - 4, kPictureWidth - 4, frame.bottom - 2};
  // Beyond the front there are no points.
  const std::vector<std::optional<Box>> places =
      place_labels(labels, obstacles, area,
                   {.side_x = scatter.x.lower_is_better ? -1 : 1,
                    .side_y = scatter.y.lower_is_better ? 1 : -1,
                    .most = kMostLabels});
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i]) {
      ++left_out;
      continue;
    }
    const Box& box = *places[i];
    if (const std::optional<Leader> leader = leader_of(labels[i], box))
      canvas.line("leader", labels[i].x, labels[i].y, leader->x, leader->y);
    canvas.text(box.left + 1, box.bottom - 4,
                shortened(labelled[i]->label, kLongestLabel, kLabelSize),
                {.size = kLabelSize, .css_class = "halo"});
  }
  return left_out;
}

}  // namespace

std::string svg_of(const Scatter& scatter, std::string_view id) {
  std::vector<double> xs, ys;
  std::vector<const ScatterPoint*> front, others;
  for (const ScatterPoint& point : scatter.points) {
    if (!has_place(point.x, scatter.x.log) || !has_place(point.y, scatter.y.log)) continue;
    xs.push_back(point.x);
    ys.push_back(point.y);
    (point.front ? front : others).push_back(&point);
  }
  if (xs.empty())
    return empty_picture(id, scatter.title,
                         scatter.points.empty() ? "There are no points to show."
                                                : "None of the points has a value to show.");
  Canvas canvas(id);
  canvas.rule(".dot{fill:var(--dots);fill-opacity:.45}");
  canvas.rule(".square{stroke:var(--dots);stroke-width:4;fill:none}");
  for (const auto& [shade, opacity] : {std::pair(0, ".22"), {1, ".4"}, {2, ".62"}, {3, ".9"}})
    canvas.rule(fmt::format(".d{}{{stroke-opacity:{}}}", shade, opacity));
  canvas.rule(".front{stroke:var(--accent);stroke-width:1.5;fill:none}");
  canvas.rule(".mark{fill:var(--accent);stroke:var(--paper);stroke-width:1}");
  canvas.rule(".leader{stroke:var(--line);fill:none;stroke-width:.8}");
  const double width = kPictureWidth - 2 * kMargin;
  double y = canvas.heading(kMargin, 12, scatter.title, width) + 6;
  std::vector<LegendEntry> legend;
  if (!front.empty())
    legend.push_back({fmt::format("{} ({})", scatter.front_name, grouped(front.size())),
                      LegendMark::kDot, "mark"});
  if (!others.empty())
    legend.push_back({fmt::format("{} ({})", scatter.point_name, grouped(others.size())),
                      LegendMark::kDot, "dot"});
  y = draw_legend(canvas, kMargin, y, width, legend) + 6;
  const Frame frame = draw_frame(
      canvas, {.x = scatter.x, .y = scatter.y, .xs = xs, .ys = ys, .top = y, .say_better = true});

  std::string note;
  if (others.size() > kMostDots) {
    draw_squares(canvas, frame, others);
    note += fmt::format(
        "The {} points off the front are drawn as squares, stronger where more of them lie (1, 2 "
        "to "
        "9, 10 to 99, 100 and more). ",
        grouped(others.size()));
  } else {
    draw_dots(canvas, scatter, frame, others);
  }
  const std::vector<const ScatterPoint*> marks = marks_of(frame, front);
  if (!marks.empty()) {
    const std::size_t left_out = draw_front(canvas, scatter, frame, marks);
    if (marks.size() < front.size())
      note += fmt::format("{} of the {} front points {}. ", grouped(marks.size()),
                          grouped(front.size()),
                          marks.size() == 1 ? "is drawn; the others lie on it"
                                            : "are drawn; the others lie on them");
    if (left_out > 0)
      note += fmt::format("Labels without room ({}) show under the pointer. ", grouped(left_out));
  }
  if (const std::size_t lost = scatter.points.size() - xs.size(); lost > 0)
    note += lost == 1 ? "One point has no value to show. "
                      : fmt::format("{} points have no value to show. ", grouped(lost));
  const double bottom = canvas.note(kMargin, frame.below + 4, note, width);
  return canvas.finish(kPictureWidth, bottom + 12, scatter.title);
}

}  // namespace nereus::chart
