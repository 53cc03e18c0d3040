#include "export/megatron.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "export/megatron_flags.hpp"

namespace nereus::exporting::megatron_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Reading read_flags(const std::string& flags, int devices = 8) {
  const TextFile file{"run.sh", "torchrun pretrain_gpt.py " + flags + "\n"};
  return read({file}, read_hints({file}), {devices, {}, std::nullopt});
}

const std::string kModel =
    "--num-layers 8 --hidden-size 64 --num-attention-heads 8 --seq-length 64 "
    "--max-position-embeddings 64 --vocab-size 100 --micro-batch-size 1 --global-batch-size 16 "
    "--bf16 ";

TEST(MegatronLayout, ReadsAndWrites) {
  EXPECT_THAT(*blocks_of_layout("E|(t|)*3,m|m||L"), ElementsAre(0, 1, 1, 1, 1, 1, 0, 0));
  EXPECT_THAT(*blocks_of_layout("Et*3|(tt|)*2t,L"), ElementsAre(3, 2, 2, 1));
  for (const std::vector<int>& blocks :
       {std::vector<int>{3, 4, 4, 3}, {0, 1, 1, 0}, {1, 2}, {10, 10, 9, 11}})
    EXPECT_EQ(*blocks_of_layout(layout_of_blocks(blocks)), blocks) << layout_of_blocks(blocks);
  EXPECT_EQ(layout_of_blocks({3, 2, 3}, 2), "Et*3|t*2|t,m*2,L");
  EXPECT_THAT(*blocks_of_layout("Et*3|t*2|t,m*2,L"), ElementsAre(3, 2, 3));
  for (const char* bad : {"", "x", "(t", "t)", "t*", "((((t)*9999)*9999)*9999)*9999"})
    EXPECT_FALSE(blocks_of_layout(bad).has_value()) << bad;
}

TEST(MegatronList, IsThatOfPython) {
  EXPECT_THAT(*python_list("([0]*2+[1]*3)"), ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(*python_list("([1,0]*2)+[1]"), ElementsAre(1, 0, 1, 0, 1));
  for (const char* bad : {"", "[", "[1", "1", "[1]*", "([1]", "[1]*[2]", "[1]*999999*999999"})
    EXPECT_FALSE(python_list(bad).has_value()) << bad;
}

TEST(MegatronFlags, AreUniqueAndSorted) {
  std::set<std::string_view> names;
  for (const MegatronFlag& flag : megatron_flags()) {
    EXPECT_TRUE(flag.name.starts_with("--")) << flag.name;
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
  }
  EXPECT_GT(names.size(), 400U);
  EXPECT_EQ(find_megatron_flag("--num-layers")->bearing, Bearing::kRead);
  EXPECT_EQ(find_megatron_flag("--lr")->bearing, Bearing::kHarmless);
  EXPECT_EQ(find_megatron_flag("--moe-expert-capacity-factor")->bearing, Bearing::kCost);
  EXPECT_EQ(find_megatron_flag("--nothing"), nullptr);
}

TEST(MegatronRead, DefaultsAreThoseOfMegatron) {
  const Reading r = read_flags(kModel);
  const model::TransformerShape& s = *r.model.transformer;
  EXPECT_EQ(s.ffn, 256);  // 4 hidden
  EXPECT_EQ(s.kv_heads, 8);
  EXPECT_TRUE(s.bias && s.tied_embeddings && !s.gated_mlp);
  EXPECT_EQ(s.position, model::PositionKind::kLearned);
  EXPECT_EQ(r.degrees.dp, 8);
  EXPECT_EQ(r.degrees.zero, 0);
  EXPECT_FALSE(r.degrees.data_overlap);  // off unless asked for
  const Reading gated = read_flags(kModel + "--swiglu");
  EXPECT_EQ(gated.model.transformer->ffn, 128);  // 8/3 x 64 = 170, down to a multiple of 64
}

TEST(MegatronRead, StagesByHand) {
  const std::string pipe = kModel + "--pipeline-model-parallel-size 4 ";
  EXPECT_TRUE(read_flags(pipe).blocks.empty());
  EXPECT_THAT(read_flags(pipe + "--decoder-first-pipeline-num-layers 1 "
                                "--decoder-last-pipeline-num-layers 1")
                  .blocks,
              ElementsAre(1, 3, 3, 1));
  EXPECT_THAT(read_flags(pipe + "--pipeline-model-parallel-layout 'Et|t*2|t*2|t*3L'").blocks,
              ElementsAre(1, 2, 2, 3));
  const Reading virtual_stages = read_flags(pipe + "--num-layers-per-virtual-pipeline-stage 1");
  EXPECT_EQ(virtual_stages.degrees.interleave, 2);
  EXPECT_EQ(virtual_stages.degrees.schedule, plan::Schedule::kInterleaved);
  EXPECT_THROW(read_flags(pipe + "--pipeline-model-parallel-layout 'Et*9|L'"), Errors);
  EXPECT_THROW(read_flags(kModel + "--pipeline-model-parallel-size 3", 3), Errors);
  const Reading deepspeed = read_flags(kModel + "--pipeline-model-parallel-size 3 --deepspeed", 3);
  EXPECT_TRUE(deepspeed.blocks.empty());
  EXPECT_EQ(deepspeed.degrees.zero, 1);  // its bf16 optimizer
  EXPECT_EQ(deepspeed.assumed.size(), 2U);
  EXPECT_THROW(read_flags(pipe + "--num-virtual-stages-per-pipeline-rank 2 "
                                 "--decoder-first-pipeline-num-layers 5"),
               Errors);
  EXPECT_TRUE(read_flags(pipe + "--num-virtual-stages-per-pipeline-rank 2").blocks.empty());
  EXPECT_THROW(read_flags(pipe + "--decoder-first-pipeline-num-layers 3"), Errors);
}

TEST(MegatronRead, WhichLayersHaveExpertsAndWindows) {
  const std::string moe = kModel + "--num-experts 4 --ffn-hidden-size 128 ";
  const auto shape = [&](const std::string& flags) { return *read_flags(flags).model.transformer; };
  EXPECT_EQ(shape(moe + "--moe-layer-freq '([0]*2+[1]*6)'").dense_layers, 2);
  const model::TransformerShape second = shape(moe + "--moe-layer-freq '([0]+[1])*4'");
  EXPECT_EQ(second.dense_layers, 0);
  EXPECT_EQ(second.expert_interval, 2);
  EXPECT_THROW(shape(moe + "--moe-layer-freq '[1,1,0,1,1,1,1,1]'"), Errors);
  EXPECT_THROW(shape(moe + "--moe-layer-freq 2"), Errors);  // experts in the first of every two
  const std::string window = kModel + "--window-size 15,0 ";
  EXPECT_EQ(shape(window).window, 16);
  EXPECT_EQ(shape(window).window_interval, 1);
  EXPECT_EQ(shape(window + "--window-attn-skip-freq 2").window_interval, 2);
  EXPECT_EQ(shape(window + "--window-attn-skip-freq '([1]+[0]*3)*2'").window_interval, 4);
  EXPECT_THROW(shape(window + "--window-attn-skip-freq '([0]+[1])*4'"), Errors);
  const Reading further =
      read_flags(kModel + "--pipeline-model-parallel-size 4 --mtp-num-layers 1");
  EXPECT_EQ(further.model.transformer->mtp_layers, 1);
  EXPECT_THAT(further.blocks, ElementsAre(2, 2, 2, 3));  // with the loss, behind the others
}

TEST(MegatronRead, UnknownFlagsAreListedAndSlipsAreErrors) {
  const Reading r = read_flags(kModel + "--our-own 1 --cuda-graph-impl local --lr 1e-4");
  ASSERT_EQ(r.not_understood.size(), 1U);
  EXPECT_THAT(r.not_understood[0].text, HasSubstr("--our-own"));
  ASSERT_EQ(r.not_counted.size(), 1U);
  EXPECT_EQ(r.not_counted[0].text, "--cuda-graph-impl local");
  try {
    read_flags(kModel + "--tensor-modle-parallel-size 2");
    ADD_FAILURE();
  } catch (const Errors& errors) {
    EXPECT_EQ(errors.list()[0].code, "import.unknown-flag");
    EXPECT_THAT(errors.list()[0].hint, HasSubstr("--tensor-model-parallel-size"));
  }
}

TEST(MegatronRead, ValuesThatAreNotKnownAreErrors) {
  for (const char* flag : {"--tensor-model-parallel-size $TP", "--tensor-model-parallel-size two",
                           "--tensor-model-parallel-size", "--micro-batch-size 0",
                           "--position-embedding-type relative", "--recompute-granularity some",
                           "--num-experts 4 --moe-layer-freq 2",
                           "--cp-comm-type p2p a2a "
                           "--context-parallel-size 2",
                           "--is-hybrid-model", "--num-layers 2000000000",
                           "--pipeline-model-parallel-size 2000000000 "
                           "--num-virtual-stages-per-pipeline-rank 2000000000"})
    EXPECT_THROW(read_flags(kModel + flag), Errors) << flag;
}

}  // namespace
}  // namespace nereus::exporting::megatron_test
