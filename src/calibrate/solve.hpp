// Small dense linear algebra for the fit: symmetric positive definite systems with a few dozen
// unknowns, row-major.
#pragma once

#include <cstddef>
#include <vector>

namespace nereus::calibrate {

// Solves (A + damping * diag(A)) x = b.
std::vector<double> solve_damped(const std::vector<double>& a, const std::vector<double>& b,
                                 double damping);
// Diagonal of A^-1, n x n.
std::vector<double> inverse_diagonal(const std::vector<double>& a, std::size_t n);

}  // namespace nereus::calibrate
