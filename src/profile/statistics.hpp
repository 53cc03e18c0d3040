// A measured number with the variation of its repeats, and its uncertainty.
//
// Over the repeats of one process:
//   median    of the repeats; for an even number, the mean of the middle two
//   low, high the quantiles of 10 and 90 %, linear between the sorted repeats (Hyndman and Fan
//             1996, type 7)
//
// Repeats within one process share random conditions: where the process's memory is, which core it
// runs on. So a number is measured in n processes, one after the other, and over them
//   median, low, high  are the means of the processes' values
//   half_width         t(0.975, n - 1) s / sqrt(n), where s is the standard deviation of the
//                      processes' medians: Student's t interval of 95 %, which includes all
//                      differences between processes, and drift from one to the next
//
// Two numbers a and b agree if |a - b| <= t(1 - (1 - confidence) / 2, d) sqrt(e_a^2 + e_b^2), by
// Welch (1947): e = s / sqrt(n) is the standard error of a number, and
//   d = (e_a^2 + e_b^2)^2 / (e_a^4 / (n_a - 1) + e_b^4 / (n_b - 1)),           rounded down.
//
// Numbers from one process have no such interval. They agree if their ranges of 10 to 90 % overlap,
// after each is widened by kLeastSpread of its median, because clocks and caches are not more
// precise.
//
//   Quantiles q = quantiles_of({1.0, 1.2, 1.1});      // one process
//   Quantiles all = over_processes({q, r, s});
//   std::abs(all.median - other.median) <= joint_half_width(all, other, 0.95);
//   double far = difference(all, other);              // of medians, a share of the smaller
#pragma once

#include <vector>

namespace nereus::profile {

struct Quantiles {
  double median = 0;
  double low = 0;
  double high = 0;
  int repeats = 0;        // over all processes
  int processes = 0;      // 0: unknown; old files have only one process
  double half_width = 0;  // of the 95 % interval; needs two or more processes
  bool operator==(const Quantiles&) const = default;
  bool has_interval() const { return processes >= 2; }
};

inline constexpr double kLeastSpread = 0.02;
inline constexpr double kConfidence = 0.95;  // of half_width
inline constexpr int kMostProcesses = 1000;

double quantile(std::vector<double> values, double share);  // 0 if there are none
Quantiles quantiles_of(const std::vector<double>& values);
// Quantiles of the rates amount / seconds: the slowest time gives the lowest rate.
Quantiles rates_of(double amount, const std::vector<double>& seconds);

// Combines the results of the processes for one number. With one process, the number is unchanged.
Quantiles over_processes(const std::vector<Quantiles>& processes);
// For the difference of two numbers with intervals; 0 < confidence < 1.
double joint_half_width(const Quantiles& a, const Quantiles& b, double confidence);

bool ranges_meet(const Quantiles& a, const Quantiles& b);
double difference(const Quantiles& a, const Quantiles& b);

}  // namespace nereus::profile
