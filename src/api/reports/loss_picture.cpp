#include "api/reports/loss_picture.hpp"

#include <algorithm>

#include "chart/lines.hpp"

namespace nereus::api {

std::string loss_picture(const std::vector<app::TrainStep>& steps, const std::string& title) {
  constexpr std::size_t kMostPoints = 100;
  const std::size_t width = (steps.size() + kMostPoints - 1) / kMostPoints;
  chart::LineSeries line;
  line.name = width > 1 ? "mean of " + std::to_string(width) + " steps" : "loss";
  for (std::size_t begin = 0; begin < steps.size(); begin += width) {
    const std::size_t end = std::min(steps.size(), begin + width);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += steps[i].loss;
    const auto count = static_cast<double>(end - begin);
    line.points.push_back({static_cast<double>(steps[begin].step) + (count - 1) / 2, sum / count});
  }
  chart::Lines lines;
  lines.title = title;
  lines.x = {"step", Unit::kCount};
  lines.y = {"loss (nats)", Unit::kNone};
  lines.series = {line};
  lines.gap_reason = "not a number";
  return chart::svg_of(lines, "loss");
}

}  // namespace nereus::api
