// The (min, +) product of two square matrices: the least costs of two consecutive parts.
//
//   out(i, j) = min over m of a(i, m) + b(m, j)
//
// It computes n^3 sums, which take most of the time for the bounds of a burst search; a tile of
// sums stays in registers. Infinite entries are allowed. Only for use inside search/burst.
//
//   const std::vector<double> both = min_plus(first, second, n);  // row after row
#pragma once

#include <cstddef>
#include <vector>

namespace nereus::burst {

std::vector<double> min_plus(const std::vector<double>& a, const std::vector<double>& b,
                             std::size_t n);

}  // namespace nereus::burst
