// How similarly two lists order the same things.
//
//   Spearman's coefficient: the correlation of the two lists of ranks; equal values have the mean
//   of their ranks (Spearman 1904). 1: the same order, -1: the reverse, 0: no relation.
//
//   rank_correlation({17.1, 16.2, 36.1}, {17.4, 15.5, 35.5});   // 1
#pragma once

#include <vector>

namespace nereus::calibrate {

// 0 if a list has fewer than two different values. Both lists must have the same length.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace nereus::calibrate
