#include "profile/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace nereus::profile {

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

bool agree(const Quantiles& a, const Quantiles& b) {
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
