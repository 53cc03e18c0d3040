// A measured number and how far it strays.
//
//   median    the middle one of the repeats, of an even number the mean of the middle two
//   low, high the quantiles of 10 and 90 %, straight between the sorted repeats (Hyndman and Fan
//             1996, type 7)
//
// Repeats of one run lie close together in time and share its luck: two runs of an idle machine
// differ by more than the error of a median. So two numbers agree where their ranges of 10 to 90 %
// meet, which says less than a test of medians and holds where the machine's speed drifts. Each is
// first widened by kLeastSpread of its median: clocks and caches settle no finer.
//
//   Quantiles q = quantiles_of({1.0, 1.2, 1.1});
//   agree(q, other);
//   double far = difference(q, other);               // of medians, a share of the smaller
#pragma once

#include <vector>

namespace nereus::profile {

struct Quantiles {
  double median = 0;
  double low = 0;
  double high = 0;
  int repeats = 0;
  bool operator==(const Quantiles&) const = default;
};

inline constexpr double kLeastSpread = 0.02;

double quantile(std::vector<double> values, double share);  // 0 of none
Quantiles quantiles_of(const std::vector<double>& values);
// The same of bytes / seconds: the slowest time is the least rate.
Quantiles rates_of(double amount, const std::vector<double>& seconds);

bool agree(const Quantiles& a, const Quantiles& b);
double difference(const Quantiles& a, const Quantiles& b);

}  // namespace nereus::profile
