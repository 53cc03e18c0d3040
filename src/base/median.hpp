// The median; for an even count, the mean of the middle two.
//
//   median({4, 1, 3, 2});   // 2.5
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace nereus {

// 0 if `values` is empty.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace nereus
