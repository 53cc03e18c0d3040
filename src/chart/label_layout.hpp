// Positions for the labels of points. No label overlaps another label, a point, a line or the
// border.
//
// Greedy: labels are placed in the order given, each at the first free one of 24 positions around
// its point (eight directions, near, further and far; or four directions on a preferred side). A
// label without a free position is left out. So labels given first are the most likely to be
// placed.
//
//   std::vector<std::optional<Box>> places = place_labels(labels, obstacles, plot_area);
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace nereus::chart {

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  bool overlaps(const Box& o) const {
    return left < o.right && o.left < right && top < o.bottom && o.top < bottom;
  }
  bool inside(const Box& o) const {
    return left >= o.left && right <= o.right && top >= o.top && bottom <= o.bottom;
  }
};

struct PointLabel {
  double x = 0, y = 0;  // of the point
  double width = 0, height = 0;
  bool anywhere = true;  // false: only on the preferred side
};

struct LabelOptions {
  int side_x = 1;           // preferred direction: 1 right, -1 left
  int side_y = -1;          // 1 down, -1 up
  std::size_t most = 1000;  // number of labels
};

std::vector<std::optional<Box>> place_labels(std::span<const PointLabel> labels,
                                             std::span<const Box> obstacles, const Box& area,
                                             const LabelOptions& options = {});

// Where the line from a point to its label meets the label; empty if the two are so close that no
// line is needed. Leader lines cross no label.
struct Leader {
  double x = 0, y = 0;
};
std::optional<Leader> leader_of(const PointLabel& label, const Box& box);

}  // namespace nereus::chart
