#include "chart/label_layout.hpp"

#include <algorithm>
#include <cmath>

namespace nereus::chart {

namespace {

struct Direction {
  double x, y;
};
// Relative to the preferred side, the best first; the first four are on that side.
constexpr Direction kDirections[] = {{1, 1},  {-1, 1}, {1, 0},  {0, 1},
                                     {1, -1}, {-1, 0}, {0, -1}, {-1, -1}};
constexpr double kDistances[] = {6, 18, 34};

Box box_at(const PointLabel& label, const Direction& way, double distance) {
  // Beside a point the label begins at the distance; straight above or below it is centred.
  const double x = label.x + way.x * (distance + label.width / 2);
  const double y = label.y + way.y * (distance + label.height / 2) * (way.x == 0 ? 1 : 0.8);
  return {x - label.width / 2, y - label.height / 2, x + label.width / 2, y + label.height / 2};
}

bool overlaps_any(const Box& box, std::span<const Box> others) {
  return std::any_of(others.begin(), others.end(), [&](const Box& b) { return b.overlaps(box); });
}

// Small boxes along the leader from the label to its point; empty if it has none.
std::vector<Box> leader_boxes(const PointLabel& label, const Box& box) {
  const std::optional<Leader> leader = leader_of(label, box);
  if (!leader) return {};
  std::vector<Box> boxes;
  constexpr int kPieces = 10;
  for (int i = 0; i < kPieces; ++i) {
    const double t = (i + 0.5) / kPieces;
    const double x = leader->x + t * (label.x - leader->x);
    const double y = leader->y + t * (label.y - leader->y);
    boxes.push_back({x - 2, y - 2, x + 2, y + 2});
  }
  return boxes;
}

}  // namespace

std::optional<Leader> leader_of(const PointLabel& label, const Box& box) {
  const double x = std::clamp(label.x, box.left, box.right);
  const double y = std::clamp(label.y, box.top, box.bottom);
  if (std::hypot(x - label.x, y - label.y) <= 14) return std::nullopt;
  return Leader{x, y};
}

std::vector<std::optional<Box>> place_labels(std::span<const PointLabel> labels,
                                             std::span<const Box> obstacles, const Box& area,
                                             const LabelOptions& options) {
  std::vector<Box> taken(obstacles.begin(), obstacles.end());
  std::vector<Box> placed;
  std::vector<std::optional<Box>> places(labels.size());
  const auto free_place = [&](const PointLabel& label) -> std::optional<Box> {
    for (const double distance : kDistances)
      for (const Direction& way : std::span(kDirections).first(label.anywhere ? 8 : 4)) {
        const Box box = box_at(label, {way.x * options.side_x, way.y * options.side_y}, distance);
        if (!box.inside(area) || overlaps_any(box, taken)) continue;
        const std::vector<Box> leader = leader_boxes(label, box);
        if (std::none_of(leader.begin(), leader.end(),
                         [&](const Box& piece) { return overlaps_any(piece, placed); }))
          return box;
      }
    return std::nullopt;
  };
  for (std::size_t i = 0; i < labels.size() && placed.size() < options.most; ++i) {
    places[i] = free_place(labels[i]);
    if (!places[i]) continue;
    placed.push_back(*places[i]);
    taken.push_back(*places[i]);
    for (const Box& piece : leader_boxes(labels[i], *places[i])) taken.push_back(piece);
  }
  return places;
}

}  // namespace nereus::chart
