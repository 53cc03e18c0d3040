// A measured number, how far its repeats stray, and how far the number itself may be off.
//
// Of the repeats of one process:
//   median    the middle one of the repeats, of an even number the mean of the middle two
//   low, high the quantiles of 10 and 90 %, straight between the sorted repeats (Hyndman and Fan
//             1996, type 7)
//
// Repeats within one process share its luck: where its memory lies, which core it runs on. So a
// number is measured in n processes, one after the other, and of them
//   median, low, high  are the means of the processes' own
//   half_width         t(0.975, n - 1) s / sqrt(n), with s the standard deviation of the processes'
//                      medians: the interval of 95 % of Student's t, in which all that differs
//                      between processes is counted, and what drifts from one to the next
//
// Two numbers a and b agree where |a - b| <= t(1 - (1 - confidence) / 2, d) sqrt(e_a^2 + e_b^2), by
// Welch (1947): e = s / sqrt(n) is a number's own standard error and
//   d = (e_a^2 + e_b^2)^2 / (e_a^4 / (n_a - 1) + e_b^4 / (n_b - 1)),           rounded down.
//
// Numbers of one process have no such interval. They agree where their ranges of 10 to 90 % meet,
// each first widened by kLeastSpread of its median: clocks and caches settle no finer.
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
  int repeats = 0;        // of all processes
  int processes = 0;      // 0: not known; files of before there were several
  double half_width = 0;  // of the interval of 95 %; with two processes and more
  bool operator==(const Quantiles&) const = default;
  bool has_interval() const { return processes >= 2; }
};

inline constexpr double kLeastSpread = 0.02;
inline constexpr double kConfidence = 0.95;  // of half_width
inline constexpr int kMostProcesses = 1000;

double quantile(std::vector<double> values, double share);  // 0 of none
Quantiles quantiles_of(const std::vector<double>& values);
// The same of bytes / seconds: the slowest time is the least rate.
Quantiles rates_of(double amount, const std::vector<double>& seconds);

// One number as each of the processes found it. Of one process alone it stays what it is.
Quantiles over_processes(const std::vector<Quantiles>& processes);
// Of the difference of two numbers that have intervals; 0 < confidence < 1.
double joint_half_width(const Quantiles& a, const Quantiles& b, double confidence);

bool ranges_meet(const Quantiles& a, const Quantiles& b);
double difference(const Quantiles& a, const Quantiles& b);

}  // namespace nereus::profile
