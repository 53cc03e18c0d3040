#include "profile/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/student_t.hpp"

namespace nereus::profile {

namespace {

double t_of(double confidence, int degrees) {
  return t_quantile(1 - (1 - confidence) / 2, degrees);
}

double standard_error(const Quantiles& q) {
  return q.half_width / t_of(kConfidence, q.processes - 1);
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto left = static_cast<std::size_t>(place);
  const std::size_t right = std::min(left + 1, values.size() - 1);
  return values[left] + (place - static_cast<double>(left)) * (values[right] - values[left]);
}

Quantiles quantiles_of(const std::vector<double>& values) {
  return {quantile(values, 0.5), quantile(values, 0.1), quantile(values, 0.9),
          static_cast<int>(values.size())};
}

Quantiles rates_of(double amount, const std::vector<double>& seconds) {
  std::vector<double> rates;
  for (const double own : seconds) rates.push_back(amount / own);
  return quantiles_of(rates);
}

Quantiles over_processes(const std::vector<Quantiles>& processes) {
  NEREUS_CHECK(!processes.empty(), "a number that no process measured");
  const auto n = static_cast<double>(processes.size());
  Quantiles all;
  for (const Quantiles& own : processes) {
    all.median += own.median / n;
    all.low += own.low / n;
    all.high += own.high / n;
    all.repeats += own.repeats;
  }
  all.processes = static_cast<int>(processes.size());
  if (all.processes < 2) return all;
  double squares = 0;
  for (const Quantiles& own : processes) squares += std::pow(own.median - all.median, 2);
  all.half_width = t_of(kConfidence, all.processes - 1) * std::sqrt(squares / (n - 1) / n);
  // Sums of equal numbers may end a last bit apart.
  all.low = std::min(all.low, all.median);
  all.high = std::max(all.high, all.median);
  return all;
}

double joint_half_width(const Quantiles& a, const Quantiles& b, double confidence) {
  NEREUS_CHECK(a.has_interval() && b.has_interval(), "numbers without intervals");
  const double error_a = standard_error(a), error_b = standard_error(b);
  const double largest = std::max(error_a, error_b);
  if (!(largest > 0)) return 0;
  // Shares of the larger, since fourth powers of seconds may be too small for a double.
  const double of_a = std::pow(error_a / largest, 2), of_b = std::pow(error_b / largest, 2);
  const double degrees = std::pow(of_a + of_b, 2) /
                         (of_a * of_a / (a.processes - 1) + of_b * of_b / (b.processes - 1));
  return t_of(confidence, static_cast<int>(degrees + 1e-9)) * largest * std::sqrt(of_a + of_b);
}

bool ranges_meet(const Quantiles& a, const Quantiles& b) {
  const auto low = [](const Quantiles& q) {
    return std::min(q.low, q.median * (1 - kLeastSpread));
  };
  const auto high = [](const Quantiles& q) {
    return std::max(q.high, q.median * (1 + kLeastSpread));
  };
  return low(a) <= high(b) && low(b) <= high(a);
}

double difference(const Quantiles& a, const Quantiles& b) {
  const double smaller = std::min(a.median, b.median);
  return smaller > 0 ? std::abs(a.median - b.median) / smaller : 0;
}

}  // namespace nereus::profile
