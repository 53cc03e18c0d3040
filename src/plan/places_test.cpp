#include "plan/places.hpp"

#include <gtest/gtest.h>

#include "plan/expand.hpp"
#include "plan/test_models.hpp"

namespace nereus::plan::places_test {
namespace {

using Who = std::vector<int>;

TEST(Places, AMachineKeepsItsStage) {
  // pp 2 dp 3 loses its places 1 and 3: what is left goes on as pp 2 dp 2 and nobody moves.
  const std::vector<HeldStage> left = {{0, 2}, {0, 2}, {1, 2}, {1, 2}};
  EXPECT_EQ(places_that_keep_stages(left, even_stages(4, 2)), (Who{0, 1, 2, 3}));
  // Three of stage 1 and one of stage 0: one of the three must change.
  const std::vector<HeldStage> uneven = {{0, 2}, {1, 2}, {1, 2}, {1, 2}};
  EXPECT_EQ(places_that_keep_stages(uneven, even_stages(4, 2)), (Who{0, 3, 1, 2}));
}

TEST(Places, NewcomersTakeWhatIsLeft) {
  const std::vector<HeldStage> machines = {{1, 2}, {}, {}, {0, 2}};
  EXPECT_EQ(places_that_keep_stages(machines, even_stages(4, 2)), (Who{3, 1, 0, 2}));
  // Another depth: nothing can be kept, and the order given decides. The last is spare.
  EXPECT_EQ(places_that_keep_stages(machines, even_stages(3, 3)), (Who{0, 1, 2}));
  EXPECT_EQ(places_that_keep_stages(machines, even_stages(2, 0)), (Who{0, 1}));
}

TEST(Places, OfAPlan) {
  Degrees degrees;
  degrees.pp = 2;
  degrees.dp = 3;
  degrees.global_batch = 6;
  const Placement placement = expand(degrees, testing::make_dense(4));
  EXPECT_EQ(stages_of_places(placement), even_stages(6, 2));
  EXPECT_EQ(fewest_copies(placement), 3);
  degrees.zero = 1;  // the optimizer's state is divided
  EXPECT_EQ(fewest_copies(expand(degrees, testing::make_dense(4))), 1);
  EXPECT_EQ(fewest_copies(expand(Degrees{}, testing::make_dense(4))), 1);
}

}  // namespace
}  // namespace nereus::plan::places_test
