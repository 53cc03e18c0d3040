#include "profile/profile.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "profile/layer_times.hpp"

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
      break;
  }
  return "other";
}

double TimeCurve::at(double s) const {
  NEREUS_CHECK(!empty(), "a curve without points has no time");
  const std::size_t n = samples.size();
  if (n == 1) return seconds[0] * s / samples[0];
  std::size_t right = 1;  // of the two points that the line goes through
  while (right + 1 < n && samples[right] < s) ++right;
  const double x = samples[right - 1], y = seconds[right - 1];
  const double line = y + (s - x) * (seconds[right] - y) / (samples[right] - x);
  if (s >= samples[0]) return line;
  return std::clamp(line, seconds[0] * s / samples[0], seconds[0]);
}

RepairedCurve curve_of(const std::vector<double>& samples, const std::vector<double>& seconds) {
  const Repaired repaired = monotone(Curve{seconds, 0, 0});
  RepairedCurve out{{samples, repaired.curve.points}, repaired.raised, 1};
  for (std::size_t i = 0; i < seconds.size(); ++i)
    out.most = std::max(out.most, repaired.curve.points[i] / seconds[i]);
  return out;
}

}  // namespace nereus::profile
