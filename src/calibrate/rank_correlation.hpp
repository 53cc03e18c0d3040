// Whether two lists put the same things in the same order.
//
//   Spearman's coefficient: the correlation of the two lists of ranks, equal values sharing the
//   mean of their ranks (Spearman 1904). 1: the same order, -1: the reverse, 0: neither.
//
//   rank_correlation({17.1, 16.2, 36.1}, {17.4, 15.5, 35.5});   // 1
#pragma once

#include <vector>

namespace nereus::calibrate {

// 0 where a list has fewer than two different values. Both are of one length.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace nereus::calibrate
