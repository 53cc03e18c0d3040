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

TEST(RunsNamed, StateTheirBatch) {
  EXPECT_THAT(parsed({row_with({{"micro_batch", ""}})}).skipped,
              ElementsAre(Pair("micro_batch not stated", 1)));
}

// The mean of errors would be no number if one of them were none.
TEST(RunsNamed, AreSkippedBeyondADomainWithoutANetwork) {
  const auto on = [](const char* gpus) {
    return parsed({row_with({{"gpu", "TPU-v4"},
                             {"precision", "bf16"},
                             {"micro_batch", "2"},
                             {"gpus", gpus},
                             {"global_batch", "16384"}})});
  };
  EXPECT_EQ(on("4096").runs.size(), 1u) << "one domain";
  EXPECT_THAT(on("8192").skipped, ElementsAre(Pair("tpu-v4 has no network", 1)));
}

TEST(RunsNamed, OfDifferentSoftwareAreNotRankedTogether) {
  const RunTable table =
      parsed({row_with({{"framework", "PyTorch"}}), row_with({{"framework", "MXNet"}})});
  ASSERT_EQ(table.runs.size(), 2u) << reasons(table);
  EXPECT_NE(table.runs[0].ranking_group, table.runs[1].ranking_group);
}

}  // namespace
}  // namespace nereus::calibrate::runs_named_test
