#include "predict/stage_classes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/read/load_model.hpp"
#include "predict/predict_testing.hpp"
#include "stack/stack.hpp"

namespace nereus::cost::stage_classes_test {
namespace {

// Layers of each virtual stage.
std::vector<int> sizes(const model::Model& model, int num_stages, StageRule rule) {
  const std::vector<int> starts = stage_starts(model, num_stages, rule);
  std::vector<int> sizes;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) sizes.push_back(starts[i + 1] - starts[i]);
  return sizes;
}

// NVIDIA's layout of DeepSeek-V3 on 16 virtual stages: embedding and four blocks, fourteen times
// four, then one block, the further token's and the head with both losses.
TEST(StageEnds, OfDeepSeekAreTheRecipes) {
  std::vector<int> expected(16, 4);
  expected.front() = 5;
  expected.back() = 3;
  EXPECT_EQ(sizes(model::load_model("deepseek-v3-mtp"), 16, StageRule::kEnds), expected);
}

// 126 blocks and both ends are 128 = 64 x 2.
TEST(StageEnds, CountAsABlockEachWhereThatDivides) {
  const std::vector<int> expected(64, 2);
  EXPECT_EQ(sizes(model::load_model("llama3-405b"), 64, StageRule::kEnds), expected);
}

TEST(StageEnds, DoNotCountWhereBlocksDivideAlone) {
  std::vector<int> expected(4, 20);
  expected.front() = expected.back() = 21;
  EXPECT_EQ(sizes(model::load_model("llama3-70b"), 4, StageRule::kEnds), expected);
}

RC_GTEST_PROP(StageEndsProperty, EveryLayerIsOnOneStageAndNoStageIsEmpty, ()) {
  const model::Model model = testing::any_transformer();
  const int num_stages = *rc::gen::inRange(1, model.num_layers() - 1);
  const std::vector<int> starts = stage_starts(model, num_stages, StageRule::kEnds);
  RC_ASSERT(starts.size() == static_cast<std::size_t>(num_stages) + 1);
  RC_ASSERT(starts.front() == 0);
  RC_ASSERT(starts.back() == model.num_layers());
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) RC_ASSERT(starts[i] < starts[i + 1]);
}

// Plans that cannot be built are priced all the same: stages may be empty, never out of order.
RC_GTEST_PROP(StageStartsProperty, StayInOrderWithMoreStagesThanLayers, ()) {
  const model::Model model = testing::any_transformer();
  const StageRule rule = testing::pick({StageRule::kEven, StageRule::kBalanced, StageRule::kEnds});
  const std::vector<int> starts = stage_starts(model, *rc::gen::inRange(1, 120), rule);
  RC_ASSERT(starts.front() == 0);
  RC_ASSERT(starts.back() == model.num_layers());
  RC_ASSERT(std::is_sorted(starts.begin(), starts.end()));
}

}  // namespace
}  // namespace nereus::cost::stage_classes_test
