#include "profile/profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/format.hpp"

namespace nereus::profile {

std::string_view to_string(Role role) {
  switch (role) {
    case Role::kEmbedding:
      return "embedding";
    case Role::kBlock:
      return "block";
    case Role::kHead:
      return "head";
    case Role::kOther:
      return "other";
  }
  return "?";
}

double TimeCurve::at(double s) const {
  NEREUS_CHECK(!empty(), "a curve without points has no time");
  const std::size_t n = samples.size();
  if (n == 1) return seconds[0] * s / samples[0];
  std::size_t right = 1;  // of the two points that the line goes through
  while (right + 1 < n && samples[right] < s) ++right;
  const double x = samples[right - 1], y = seconds[right - 1];
  const double line = y + (s - x) * (seconds[right] - y) / (samples[right] - x);
  if (s > samples.back()) return std::max(line, seconds.back() * s / samples.back());
  if (s >= samples[0]) return line;
  return std::clamp(line, seconds[0] * s / samples[0], seconds[0]);
}

RepairedCurve curve_of(const std::vector<double>& samples, const std::vector<double>& seconds) {
  struct Level {
    double sum;
    std::size_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Level> levels;
  for (const double own : seconds) {
    levels.push_back({own, 1});
    while (levels.size() > 1 && levels[levels.size() - 2].mean() > levels.back().mean()) {
      const Level last = levels.back();
      levels.pop_back();
      levels.back().sum += last.sum;
      levels.back().count += last.count;
    }
  }
  RepairedCurve out{{samples, seconds}, 0, 1};
  std::size_t i = 0;
  for (const Level& level : levels)
    for (std::size_t end = i + level.count; i < end; ++i) {
      if (level.count == 1) continue;  // as it was measured, to the last digit
      double& own = out.curve.seconds[i];
      out.most = std::max({out.most, level.mean() / own, own / level.mean()});
      out.moved += own != level.mean() ? 1 : 0;
      own = level.mean();
    }
  return out;
}

void mend_falling(MeasuredLayer& layer, std::vector<std::string>& notes) {
  const auto mend = [&](const char* pass, std::vector<double>& times, std::vector<double>& low,
                        std::vector<double>& high) {
    if (times.empty()) return;
    const RepairedCurve curve = curve_of(layer.samples, times);
    if (curve.most <= kMostNoise) return;
    times = curve.curve.seconds;
    for (std::size_t i = 0; i < times.size(); ++i) {
      low[i] = std::min(low[i], times[i]);
      high[i] = std::max(high[i], times[i]);
    }
    notes.push_back(fmt::format(
        "{} {}: at {} the time fell though there were more samples; smoothed by {:.0f} %",
        layer.layer, pass, counted(curve.moved, "point"), 100 * (curve.most - 1)));
  };
  mend("forward", layer.forward, layer.forward_low, layer.forward_high);
  mend("backward", layer.backward, layer.backward_low, layer.backward_high);
}

}  // namespace nereus::profile
