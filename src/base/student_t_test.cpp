#include "base/student_t.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace nereus::student_t_test {
namespace {

// Tables of Abramowitz and Stegun, 26.10: A = P(|T| <= t).
TEST(StudentT, IsThatOfTheTables) {
  EXPECT_NEAR(t_quantile(0.975, 1), 12.706, 5e-4);
  EXPECT_NEAR(t_quantile(0.975, 2), 4.303, 5e-4);
  EXPECT_NEAR(t_quantile(0.95, 5), 2.015, 5e-4);
  EXPECT_NEAR(t_quantile(0.995, 8), 3.355, 5e-4);
  EXPECT_NEAR(t_quantile(0.9995, 9), 4.781, 5e-4);
  EXPECT_NEAR(t_quantile(0.975, 30), 2.042, 5e-4);
  EXPECT_NEAR(t_quantile(0.975, 120), 1.980, 5e-4);
}

TEST(StudentT, IsSymmetricAndInverse) {
  for (const int degrees : {1, 2, 3, 6, 11, 40})
    for (const double p : {0.001, 0.2, 0.5, 0.8, 0.999}) {
      EXPECT_NEAR(t_distribution(t_quantile(p, degrees), degrees), p, 1e-12);
      EXPECT_NEAR(t_quantile(p, degrees), -t_quantile(1 - p, degrees),
                  1e-9 * (1 + std::abs(t_quantile(p, degrees))));
    }
}

}  // namespace
}  // namespace nereus::student_t_test
