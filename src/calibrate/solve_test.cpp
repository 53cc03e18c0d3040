#include "calibrate/solve.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace nereus::calibrate::solve_test {
namespace {

using Numbers = std::vector<double>;

TEST(Solve, TwoByTwoByHand) {
  // 4x + y = 9, x + 3y = 5: x = 2, y = 1.
  const Numbers x = solve_damped({4, 1, 1, 3}, {9, 5}, 0);
  EXPECT_NEAR(x[0], 2, 1e-9);
  EXPECT_NEAR(x[1], 1, 1e-9);
}

TEST(Solve, ThreeByThreeByHand) {
  // Symmetric and positive (a discrete second derivative): x = (1, 2, 3) gives (0, 0, 4).
  const Numbers x = solve_damped({2, -1, 0, -1, 2, -1, 0, -1, 2}, {0, 0, 4}, 0);
  EXPECT_NEAR(x[0], 1, 1e-9);
  EXPECT_NEAR(x[1], 2, 1e-9);
  EXPECT_NEAR(x[2], 3, 1e-9);
}

TEST(Solve, DampingGrowsTheDiagonal) {
  // With damping 1: 8x + y = 9, x + 6y = 7: x = y = 1.
  const Numbers x = solve_damped({4, 1, 1, 3}, {9, 7}, 1);
  EXPECT_NEAR(x[0], 1, 1e-9);
  EXPECT_NEAR(x[1], 1, 1e-9);
}

TEST(Solve, InverseDiagonalByHand) {
  const Numbers two = inverse_diagonal({4, 1, 1, 3}, 2);  // determinant 11
  EXPECT_NEAR(two[0], 3.0 / 11, 1e-12);
  EXPECT_NEAR(two[1], 4.0 / 11, 1e-12);
  const Numbers three = inverse_diagonal({2, -1, 0, -1, 2, -1, 0, -1, 2}, 3);  // determinant 4
  EXPECT_NEAR(three[0], 0.75, 1e-12);
  EXPECT_NEAR(three[1], 1.0, 1e-12);
  EXPECT_NEAR(three[2], 0.75, 1e-12);
}

TEST(Solve, NothingHasNoSolution) {
  EXPECT_TRUE(solve_damped({}, {}, 0).empty());
  EXPECT_TRUE(inverse_diagonal({}, 0).empty());
}

TEST(Solve, ASingularSystemStaysFinite) {
  for (double x : solve_damped({1, 1, 1, 1}, {1, 1}, 1e-3)) EXPECT_TRUE(std::isfinite(x));
  for (double x : solve_damped({0, 0, 0, 0}, {0, 0}, 0)) EXPECT_TRUE(std::isfinite(x));
}

// A = B B^T + 1 is symmetric and positive; A x must come back.
RC_GTEST_PROP(SolveProperty, SolutionsSolve, ()) {
  const int n = *rc::gen::inRange(1, 20);
  const auto random = [] { return *rc::gen::inRange(-100, 101) * 0.01; };
  Numbers b(static_cast<std::size_t>(n * n));
  for (double& value : b) value = random();
  Numbers a(b.size());
  const auto at = [n](int i, int j) { return static_cast<std::size_t>(i * n + j); };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      a[at(i, j)] = i == j ? 1 : 0;
      for (int k = 0; k < n; ++k) a[at(i, j)] += b[at(i, k)] * b[at(j, k)];
    }
  Numbers right(static_cast<std::size_t>(n));
  for (double& value : right) value = random();
  const Numbers x = solve_damped(a, right, 0);
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int j = 0; j < n; ++j) sum += a[at(i, j)] * x[j];
    RC_ASSERT(std::abs(sum - right[i]) < 1e-8);
  }
}

}  // namespace
}  // namespace nereus::calibrate::solve_test
