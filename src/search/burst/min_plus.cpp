#include "search/burst/min_plus.hpp"
#include "search/burst/never.hpp"

#include <algorithm>
#include <cstring>

namespace nereus::burst {

namespace {

constexpr std::size_t kRows = 4, kColumns = 8;  // of a tile
std::size_t rounded_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

// Rows and columns to whole tiles; what is added is never the least.
std::vector<double> padded(const std::vector<double>& a, std::size_t n, std::size_t rows,
                           std::size_t columns) {
  std::vector<double> out(rows * columns, kNever);
  for (std::size_t i = 0; i < n; ++i)
    std::copy_n(&a[i * n], n, out.begin() + static_cast<std::ptrdiff_t>(i * columns));
  return out;
}

// The number of doubles per register. With longer vectors, GCC compares the elements one by one on
// arm64, but not on x86-64.
#if defined(__x86_64__)
constexpr std::size_t kLanes = 8;
#else
constexpr std::size_t kLanes = 2;
#endif
constexpr std::size_t kPerRow = kColumns / kLanes;
using Lanes [[gnu::vector_size(kLanes * sizeof(double))]] = double;

// Uses the processor's widest registers. Not under sanitizers, which are not initialized yet when
// the processor is queried.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void tile_of(const double* left, const double* right, std::size_t n, std::size_t columns,
             double* out) {
  Lanes least[kRows][kPerRow];
  for (auto& row : least)
    for (Lanes& own : row) own = Lanes{} + kNever;
  for (std::size_t m = 0; m < n; ++m) {
    Lanes second[kPerRow];
    std::memcpy(second, &right[m * columns], sizeof second);
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t c = 0; c < kPerRow; ++c) {
        const Lanes sum = left[r * n + m] + second[c];
        least[r][c] = sum < least[r][c] ? sum : least[r][c];
      }
  }
  std::memcpy(out, least, sizeof least);
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
      tile_of(&left[i * n], &right[j], n, columns, &least[0][0]);
      for (std::size_t r = 0; r < std::min(kRows, n - i); ++r)
        std::copy_n(least[r], std::min(kColumns, n - j),
                    out.begin() + static_cast<std::ptrdiff_t>((i + r) * n + j));
    }
  return out;
}

}  // namespace nereus::burst
