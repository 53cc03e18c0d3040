// Rows that describe their model by its name in the catalog alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/runs.hpp"
#include "calibrate/runs_testing.hpp"

namespace nereus::calibrate::runs_named_test {
namespace {

using namespace testing;  // of this folder
using ::testing::ElementsAre;
using ::testing::Pair;

// 2,048 pictures on the eight devices of a node, with these cells changed.
Cells row_with(Cells changes) {
  changes.merge(Cells{{"model", "resnet50"},
                      {"gpu", "A100-80GB"},
                      {"gpus", "8"},
                      {"micro_batch", "256"},
                      {"precision", "tf32"},
                      {"global_batch", "2048"},
                      {"metric", "samples_per_s"},
                      {"value", "8192"}});
  return changes;
}

RunTable parsed(const std::vector<Cells>& rows,
                const cost::StackLibrary& library = test_library()) {
  return parse_runs(spec::parse_csv(csv_of(rows), "named.csv"), "named", library);
}

TEST(RunsNamed, HaveTheModelOfTheCatalogAndDataParallelismAlone) {
  const RunTable table = parsed({row_with({})});
  ASSERT_EQ(table.runs.size(), 1u) << reasons(table);
  const auto& run = table.runs.front();
  EXPECT_EQ(run.model->family, "resnet");
  EXPECT_EQ(run.degrees.tp, 1);
  EXPECT_EQ(run.degrees.pp, 1);
  EXPECT_EQ(run.degrees.dp, 8);
  EXPECT_DOUBLE_EQ(run.step, 0.25) << "2,048 samples at 8,192 per second";
}

TEST(RunsNamed, TakeTheRowsSequence) {
  const RunTable table = parsed({row_with(
      {{"model", "bert-large"}, {"micro_batch", "8"}, {"global_batch", "64"}, {"seq", "128"}})});
  ASSERT_EQ(table.runs.size(), 1u) << reasons(table);
  EXPECT_EQ(table.runs.front().model->tokens_per_sample, 128);
  EXPECT_THAT(parsed({row_with({{"model", "bert-large"}, {"seq", "many"}})}).skipped,
              ElementsAre(Pair("not a model that can be", 1)));
}

TEST(RunsNamed, TakeTheRowsSplitOfTables) {
  const Cells row = row_with({{"model", "dlrm"}, {"ep", "8"}, {"table_split", "row"}});
  const RunTable table = parsed({row}, cost::builtin_stacks());
  ASSERT_EQ(table.runs.size(), 1u) << reasons(table);
  EXPECT_EQ(table.runs.front().degrees.table_split, plan::TableSplit::kRow);
  EXPECT_EQ(table.runs.front().degrees.ep, 8);
  EXPECT_EQ(table.runs.front().stack, "recommender") << "as predict";
  EXPECT_EQ(parsed({row}).runs.at(0).stack, "generic") << "a library without it";
}

// A stack for models with tables has variants for the frameworks that rows name.
TEST(RunsNamed, TakeTheirFrameworksStackForTables) {
  const auto stack_of = [](const char* framework) {
    const Cells row = row_with({{"model", "dlrm-dcnv2"}, {"framework", framework}});
    const RunTable table = parsed({row}, cost::builtin_stacks());
    return table.runs.empty() ? reasons(table) : table.runs.front().stack;
  };
  EXPECT_EQ(stack_of("PyTorch"), "dlrm-torch");
  EXPECT_EQ(stack_of("TensorFlow2"), "dlrm-examples");
  EXPECT_EQ(stack_of("HugeCTR"), "hugectr");
  EXPECT_EQ(stack_of("TorchRec"), "recommender");
}

TEST(RunsNamed, AreSkippedWhereTheNameIsUnknown) {
  EXPECT_THAT(parsed({row_with({{"model", "resnet51"}})}).skipped,
              ElementsAre(Pair("unknown model resnet51", 1)));
}

TEST(RunsNamed, RunTheirShareOfTheBatchInPiecesThatFit) {
  const RunTable table = parsed({row_with({{"micro_batch", ""}})});
  ASSERT_EQ(table.runs.size(), 1u) << reasons(table);
  EXPECT_EQ(2048 % (8 * table.runs.front().degrees.micro_batch), 0);
  EXPECT_THAT(table.runs.front().derived, ElementsAre("micro_batch"));
  const RunTable whole = parsed({row_with({{"global_batch", ""}})});
  EXPECT_EQ(whole.runs.at(0).degrees.global_batch, 2048) << "one pass a step";
}

TEST(RunsNamed, AreKnownHoweverTheyAreSpelled) {
  for (const char* name : {"ResNet-50", "RESNET50", "ResNet50 v1.5"}) {
    const RunTable table = parsed({row_with({{"model", name}})});
    ASSERT_EQ(table.runs.size(), 1u) << name;
    EXPECT_EQ(table.runs.front().model->name, "resnet50");
  }
}

TEST(RunsNamed, DecodersAreSplitWhereTheyMustBe) {
  const RunTable table = parsed({row_with({{"model", "llama3-70b"},
                                           {"gpus", "64"},
                                           {"global_batch", "512"},
                                           {"micro_batch", "1"},
                                           {"precision", "bf16"}})});
  ASSERT_EQ(table.runs.size(), 1u) << reasons(table);
  EXPECT_GT(table.runs.front().degrees.tp * table.runs.front().degrees.pp, 1);
}

TEST(RunsNamed, OfTheTablesOfNvidiasExamplesAreAllKnown) {
  for (const char* name : {"resnet50", "bert-base", "bert-large", "dlrm", "dlrm-dcnv2",
                           "dlrm-small", "dlrm-large", "dlrm-xlarge", "dcnv2-small", "dcnv2-large",
                           "dcnv2-xlarge", "vit-b-16", "vit-l-16", "vit-h-14"})
    EXPECT_EQ(parsed({row_with({{"model", name}, {"seq", ""}})}).runs.size(), 1u) << name;
}

// The mean of errors would be no number if one of them were none.
TEST(RunsNamed, AreSkippedOnSeveralNodesWithoutANetwork) {
  const auto on = [](const char* gpus) {
    return parsed({row_with({{"gpu", ""},
                             {"node", "8x_H100-SXM_SECURE"},
                             {"precision", "bf16"},
                             {"micro_batch", "2"},
                             {"gpus", gpus},
                             {"global_batch", "512"}})});
  };
  EXPECT_EQ(on("8").runs.size(), 1u) << "one node";
  EXPECT_THAT(on("16").skipped, ElementsAre(Pair("8x_H100-SXM_SECURE has no network", 1)));
}

TEST(RunsNamed, OfDifferentSoftwareAreNotRankedTogether) {
  const RunTable table =
      parsed({row_with({{"framework", "PyTorch"}}), row_with({{"framework", "MXNet"}})});
  ASSERT_EQ(table.runs.size(), 2u) << reasons(table);
  EXPECT_NE(table.runs[0].ranking_group, table.runs[1].ranking_group);
}

}  // namespace
}  // namespace nereus::calibrate::runs_named_test
