#include "base/median.hpp"

#include <gtest/gtest.h>

namespace nereus::median_test {
namespace {

TEST(Median, OfOddEvenAndNothing) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({}), 0);
}

}  // namespace
}  // namespace nereus::median_test
