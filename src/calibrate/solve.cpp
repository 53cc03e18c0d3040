#include "calibrate/solve.hpp"

#include <algorithm>
#include <cmath>

namespace nereus::calibrate {

namespace {

// Cholesky factor L of a symmetric positive definite matrix; a pivot that is negative due to
// rounding counts as tiny.
std::vector<double> cholesky(std::vector<double> a, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    double pivot = a[j * n + j];
    for (std::size_t k = 0; k < j; ++k) pivot -= a[j * n + k] * a[j * n + k];
    const double root = std::sqrt(std::max(pivot, 1e-30));
    a[j * n + j] = root;
    for (std::size_t i = j + 1; i < n; ++i) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = sum / root;
    }
  }
  return a;
}

std::vector<double> substitute(const std::vector<double>& l, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= l[i * n + k] * b[k];
    b[i] /= l[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= l[k * n + i] * b[k];
    b[i] /= l[i * n + i];
  }
  return b;
}

}  // namespace

std::vector<double> solve_damped(const std::vector<double>& a, const std::vector<double>& b,
                                 double damping) {
  const std::size_t n = b.size();
  std::vector<double> damped = a;
  for (std::size_t j = 0; j < n; ++j) damped[j * n + j] = damped[j * n + j] * (1 + damping) + 1e-12;
  return substitute(cholesky(std::move(damped), n), b);
}

std::vector<double> inverse_diagonal(const std::vector<double>& a, std::size_t n) {
  const std::vector<double> l = cholesky(a, n);
  std::vector<double> diagonal(n);
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<double> unit(n, 0.0);
    unit[j] = 1;
    diagonal[j] = substitute(l, std::move(unit))[j];
  }
  return diagonal;
}

}  // namespace nereus::calibrate
