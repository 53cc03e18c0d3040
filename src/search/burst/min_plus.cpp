#include "search/burst/min_plus.hpp"

#include <algorithm>
#include <limits>

namespace nereus::burst {

namespace {

constexpr std::size_t kRows = 4, kColumns = 8;  // of a tile
constexpr double kNever = std::numeric_limits<double>::infinity();

std::size_t rounded_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

// Rows and columns to whole tiles; what is added is never the least.
std::vector<double> padded(const std::vector<double>& a, std::size_t n, std::size_t rows,
                           std::size_t columns) {
  std::vector<double> out(rows * columns, kNever);
  for (std::size_t i = 0; i < n; ++i)
    std::copy_n(&a[i * n], n, out.begin() + static_cast<std::ptrdiff_t>(i * columns));
  return out;
}

}  // namespace

std::vector<double> min_plus(const std::vector<double>& a, const std::vector<double>& b,
                             std::size_t n) {
  const std::size_t rows = rounded_up(n, kRows), columns = rounded_up(n, kColumns);
  const std::vector<double> left = padded(a, n, rows, n), right = padded(b, n, n, columns);
  std::vector<double> out(n * n);
  for (std::size_t i = 0; i < rows; i += kRows)
    for (std::size_t j = 0; j < columns; j += kColumns) {
      double least[kRows][kColumns];
      for (auto& row : least)
        for (double& own : row) own = kNever;
      for (std::size_t m = 0; m < n; ++m) {
        const double* second = &right[m * columns + j];
        for (std::size_t r = 0; r < kRows; ++r) {
          const double first = left[(i + r) * n + m];
          for (std::size_t c = 0; c < kColumns; ++c) {
            const double sum = first + second[c];
            least[r][c] = sum < least[r][c] ? sum : least[r][c];
          }
        }
      }
      for (std::size_t r = 0; r < std::min(kRows, n - i); ++r)
        std::copy_n(least[r], std::min(kColumns, n - j),
                    out.begin() + static_cast<std::ptrdiff_t>((i + r) * n + j));
    }
  return out;
}

}  // namespace nereus::burst
