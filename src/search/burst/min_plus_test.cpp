#include "search/burst/min_plus.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "search/burst/never.hpp"

namespace nereus::burst::min_plus_test {
namespace {

TEST(BurstMinPlus, IsTheLeastOfAllSums) {
  Random random(5);
  for (std::size_t n = 1; n <= 40; ++n) {
    std::vector<double> a(n * n), b(n * n);
    for (double& own : a) own = random.below(5) == 0 ? kNever : random.uniform();
    for (double& own : b) own = random.below(5) == 0 ? kNever : random.uniform();
    const std::vector<double> product = min_plus(a, b, n);
    ASSERT_EQ(product.size(), n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double least = kNever;
        for (std::size_t m = 0; m < n; ++m) least = std::min(least, a[i * n + m] + b[m * n + j]);
        EXPECT_EQ(product[i * n + j], least) << n << ": " << i << ", " << j;
      }
  }
}

}  // namespace
}  // namespace nereus::burst::min_plus_test
