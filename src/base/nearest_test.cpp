#include "base/nearest.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace nereus::nearest_test {
namespace {

TEST(EditDistance, CountsSingleEdits) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("layers", "layer"), 1);
  EXPECT_EQ(edit_distance("layers", "laeyrs"), 1);  // a swap is one edit
  EXPECT_EQ(edit_distance("heads", "heeds"), 1);
  EXPECT_EQ(edit_distance("GPU", "gpu"), 0);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

RC_GTEST_PROP(EditDistance, IsSymmetricAndBounded, (const std::string& a, const std::string& b)) {
  const int distance = edit_distance(a, b);
  RC_ASSERT(distance == edit_distance(b, a));
  RC_ASSERT(distance <= static_cast<int>(std::max(a.size(), b.size())));
  RC_ASSERT(edit_distance(a, a) == 0);
}

TEST(Nearest, FindsTheMeantWord) {
  const std::vector<std::string> keys = {"layers", "hidden", "heads", "kv_heads", "vocabulary"};
  EXPECT_EQ(nearest("layrs", keys), "layers");
  EXPECT_EQ(nearest("Layers", keys), "layers");
  EXPECT_EQ(nearest("head", keys), "heads");
  EXPECT_EQ(nearest("kvheads", keys), "kv_heads");
}

TEST(Nearest, TakesAPrefixWhereNothingIsNearer) {
  EXPECT_EQ(nearest("vocab", {"layers", "vocabulary"}), "vocabulary");
  EXPECT_EQ(nearest("dgx-h100-80gb", {"dgx-a100", "dgx-h100"}), "dgx-h100");
  EXPECT_EQ(nearest("lay", {"layer_norm_kind", "layers_per_stage"}), "layer_norm_kind");
}

TEST(Nearest, StaysSilentWhereNothingIsNear) {
  EXPECT_EQ(nearest("zebra", {"layers", "hidden"}), std::nullopt);
  EXPECT_EQ(nearest("a", {"b"}), std::nullopt);  // every letter replaced is no likeness
  EXPECT_EQ(nearest("", {"layers"}), std::nullopt);
  EXPECT_EQ(nearest("layers", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(100000, 'a'), {std::string(100000, 'b')}), std::nullopt);
}

}  // namespace
}  // namespace nereus::nearest_test
