// The product of two square matrices of (min, +): least costs of two parts in a row.
//
//   out(i, j) = min over m of a(i, m) + b(m, j)
//
// n^3 sums, which is where the bounds of a burst search spend their time; a tile of sums stays in
// registers. Infinite entries are allowed. Inside search/burst only.
//
//   const std::vector<double> both = min_plus(first, second, n);  // row after row
#pragma once

#include <cstddef>
#include <vector>

namespace nereus::burst {

std::vector<double> min_plus(const std::vector<double>& a, const std::vector<double>& b,
                             std::size_t n);

}  // namespace nereus::burst
