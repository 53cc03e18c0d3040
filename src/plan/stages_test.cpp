#include "plan/stages.hpp"

#include <gtest/gtest.h>

#include "plan/test_plans.hpp"

namespace nereus::plan::stages_test {
namespace {

std::vector<int> blocks_per_stage(const LayerSpan& span, int num_stages) {
  std::vector<int> blocks;
  for (int s = 0; s < num_stages; ++s) blocks.push_back(stage_of(span, num_stages, s).num_blocks);
  return blocks;
}

TEST(Stages, SpreadsTheRestOverInnerStagesFirst) {
  const LayerSpan span{1, 0, 1};
  const auto split = [&](int blocks, int stages) {
    return blocks_per_stage({span.leading, blocks, span.trailing}, stages);
  };
  EXPECT_EQ(split(8, 4), (std::vector<int>{2, 2, 2, 2}));
  EXPECT_EQ(split(9, 4), (std::vector<int>{2, 3, 2, 2}));
  EXPECT_EQ(split(10, 4), (std::vector<int>{2, 3, 3, 2}));
  EXPECT_EQ(split(11, 4), (std::vector<int>{3, 3, 3, 2}));
  EXPECT_EQ(split(7, 1), (std::vector<int>{7}));
  EXPECT_EQ(split(7, 2), (std::vector<int>{4, 3}));
}

TEST(Stages, Llama405bHasOuterStagesWithoutBlocks) {
  const LayerSpan span{1, 126, 1};
  EXPECT_EQ(span.most_stages(), 128);
  EXPECT_EQ(stage_of(span, 128, 0), (StageSplit{0, 1, 0}));
  EXPECT_EQ(stage_of(span, 128, 1), (StageSplit{1, 1, 1}));
  EXPECT_EQ(stage_of(span, 128, 127), (StageSplit{127, 1, 0}));
}

TEST(Stages, CoverEveryLayerOnceAndEvenly) {
  for (int leading : {0, 1, 3})
    for (int trailing : {0, 1, 2})
      for (int blocks = 1; blocks < 40; ++blocks) {
        const LayerSpan span{leading, blocks, trailing};
        for (int v = 1; v <= span.most_stages(); ++v) {
          int next = 0;
          for (int s = 0; s < v; ++s) {
            const StageSplit split = stage_of(span, v, s);
            ASSERT_EQ(split.first_layer, next) << blocks << " blocks, stage " << s << " of " << v;
            ASSERT_GE(split.num_layers, 1) << blocks << " blocks, stage " << s << " of " << v;
            ASSERT_GE(split.num_blocks, blocks / v);
            ASSERT_LE(split.num_blocks, (blocks + v - 1) / v);
            next += split.num_layers;
          }
          ASSERT_EQ(next, span.num_layers());
          ASSERT_EQ(stage_of(span, v, v - 1).num_blocks, blocks / v);
        }
      }
}

TEST(Stages, ReadsTheSpanOffTheRoles) {
  EXPECT_EQ(layer_span(testing::make_dense(5)), (LayerSpan{1, 5, 1}));
  const auto stages = stage_layers(testing::make_dense(5), 2, 2);
  ASSERT_EQ(stages.size(), 4u);
  EXPECT_EQ(stages[0], (StageSplit{0, 2, 1}));
  EXPECT_EQ(stages[1], (StageSplit{2, 2, 2}));
  EXPECT_EQ(stages[3], (StageSplit{5, 2, 1}));
}

TEST(Stages, RanksFollowMegatronsOrder) {
  Degrees d{.tp = 2, .pp = 4, .dp = 3, .cp = 2};
  EXPECT_EQ(rank_of(d, 1, 0, 0, 0), 1);
  EXPECT_EQ(rank_of(d, 0, 1, 0, 0), 2);
  EXPECT_EQ(rank_of(d, 0, 0, 1, 0), 4);
  EXPECT_EQ(rank_of(d, 0, 0, 0, 1), 12);
  d.interleave = 2;
  EXPECT_EQ(pipeline_rank_of(d, 5), 1);
  d.schedule = Schedule::kZbV;
  EXPECT_EQ(pipeline_rank_of(d, 4), 3);
  EXPECT_EQ(pipeline_rank_of(d, 7), 0);
}

}  // namespace
}  // namespace nereus::plan::stages_test
