#include "calibrate/rank_correlation.hpp"

#include <gtest/gtest.h>

namespace nereus::calibrate::rank_correlation_test {
namespace {

TEST(RankCorrelation, OrderAloneCounts) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {10, 11, 500, 1e9}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
}

// 1 - 6 sum d^2 / (n (n^2 - 1)) where no two are equal.
TEST(RankCorrelation, AgreesWithTheFormulaOfDifferences) {
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4, 5}, {2, 1, 4, 3, 5}), 1 - 6.0 * 4 / (5 * 24), 1e-12);
}

// Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: 4.5 / sqrt(4.5 x 5).
TEST(RankCorrelation, EqualValuesShareARank) {
  EXPECT_NEAR(rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}), 0.9486832980505138, 1e-12);
}

TEST(RankCorrelation, NothingToOrder) {
  EXPECT_EQ(rank_correlation({}, {}), 0);
  EXPECT_EQ(rank_correlation({1}, {2}), 0);
  EXPECT_EQ(rank_correlation({1, 1, 1}, {1, 2, 3}), 0);
}

}  // namespace
}  // namespace nereus::calibrate::rank_correlation_test
